import { type FeatureId, featureIdKey, type Shared } from "../../domain/history.ts";
import type {
  AlertRow,
  CoverageRow,
  DenialRow,
  Fact,
  FactKind,
  SessionRow,
  StatusRow,
} from "../../fleet/protocol.ts";
import type { Sql } from "../database/connect.ts";
import { eventsOf, newlyTold, storeNewEvents } from "./new-events.ts";

export interface Origin {
  readonly site: string;
  readonly epoch: number;
}

type FactOf<Kind extends FactKind> = Extract<Fact, { readonly kind: Kind }>;

/** Runs a statement with `$1` the site, `$2` its epoch and `$3` the rows as JSON. */
export async function writeRows(
  tx: Sql,
  sql: string,
  origin: Origin,
  rows: readonly unknown[],
): Promise<void> {
  await writtenRows(tx, sql, origin, rows);
}

export async function writtenRows<Returned>(
  tx: Sql,
  sql: string,
  { site, epoch }: Origin,
  rows: readonly unknown[],
): Promise<readonly Returned[]> {
  return rows.length === 0 ? [] : tx.unsafe(sql, [site, epoch, JSON.stringify(rows)]);
}

/** Stores facts in order; each replaces the row with the same id. */
export async function storeFacts(
  tx: Sql,
  origin: Origin,
  facts: readonly Fact[],
  now: number,
): Promise<void> {
  let rest = facts;
  while (rest.length > 0) {
    // A removed row may have been stored before, and may be sent again.
    const end = rest.findIndex(({ kind }) => kind === "gone");
    await storeRun(tx, origin, end === -1 ? rest : rest.slice(0, end), now);
    const gone = rest[end];
    if (gone?.kind === "gone") await takeBack(tx, origin, gone.row);
    rest = end === -1 ? [] : rest.slice(end + 1);
  }
}

/** Stores facts without removals; the last fact about a row wins. */
async function storeRun(tx: Sql, origin: Origin, facts: readonly Fact[], now: number): Promise<void> {
  const last = <Kind extends FactKind>(kind: Kind, keyOf: (fact: FactOf<Kind>) => unknown) => {
    const rows = facts.filter((fact): fact is FactOf<Kind> => fact.kind === kind);
    return [...new Map(rows.map((row) => [keyOf(row), row])).values()];
  };
  const sessionIds = await storeSessions(
    tx,
    origin,
    last("session", ({ id }) => id),
  );
  const steps = last("step", (step) => `${featureIdKey(step)}\0${step.at}`);
  await noteFeatures(tx, origin, steps);
  await writeRows(tx, STEPS, origin, steps);
  await storeCoverage(
    tx,
    origin,
    last("coverage", ({ server, from }) => `${from} ${server}`),
  );
  await storeStatuses(
    tx,
    origin,
    last("status", ({ server, from }) => `${from} ${server}`),
  );
  const denials = last("denial", ({ id }) => id);
  const { site, epoch } = origin;
  const told = await newlyTold(tx, site, epoch, denials);
  await storeDenials(tx, origin, denials);
  const events = facts.filter((fact) => fact.kind === "event");
  const alerts = events.flatMap(({ event }) =>
    event.type === "alert" ? [[event.alert, event] as const] : [],
  );
  await storeAlerts(
    tx,
    origin,
    [...new Map(alerts)].map(([id, event]) => ({ ...event, id })),
  );
  await storeNewEvents(tx, site, epoch, await eventsOf(tx, site, facts, sessionIds, told), now);
  await writeRows(
    tx,
    OUTCOMES,
    origin,
    last("outcome", ({ command }) => command).map((row) => ({ ...row, now })),
  );
}

const SESSION = `server text, daemon text, feature text, "user" text, host text, version text, count bigint, handle text,
  "startedAt" bigint, "beganAt" bigint, "firstSeenAt" bigint, "lastSeenAt" bigint`;
const SESSION_COLUMNS = `server, daemon, feature, user_name, host, version, count, handle, started_at, began_at, first_seen_at,
  last_seen_at`;
const SESSION_VALUES = `r.server, r.daemon, r.feature, r."user", r.host, r.version, r.count, r.handle, r."startedAt", r."beganAt",
  r."firstSeenAt", r."lastSeenAt"`;
const REPLACE_SESSION = SESSION_COLUMNS.split(",")
  .map((name) => `${name.trim()} = excluded.${name.trim()}`)
  .join(", ");

const OPEN_SESSIONS = `
  INSERT INTO open_sessions (site, epoch, site_id, ${SESSION_COLUMNS})
  SELECT $1, $2, r.id, ${SESSION_VALUES} FROM json_to_recordset($3::text::json) AS r(id bigint, ${SESSION})
  ON CONFLICT (site, epoch, site_id) DO UPDATE SET ${REPLACE_SESSION} RETURNING site_id, id`;

/** A session keeps the id that the hub gave it while it was open. */
const ENDED_SESSIONS = `
  WITH r AS (
    SELECT * FROM json_to_recordset($3::text::json) AS r(id bigint, ${SESSION}, "endedAt" bigint, "endReason" text)
  ), closed AS (
    DELETE FROM open_sessions o USING r WHERE o.site = $1 AND o.epoch = $2 AND o.site_id = r.id
    RETURNING o.site_id, o.id
  )
  INSERT INTO sessions (site, epoch, site_id, id, ${SESSION_COLUMNS}, ended_at, end_reason)
  SELECT $1, $2, r.id, coalesce(closed.id, nextval('session_ids')), ${SESSION_VALUES}, r."endedAt", r."endReason"
  FROM r LEFT JOIN closed ON closed.site_id = r.id
  ON CONFLICT (site, epoch, site_id, ended_at) DO UPDATE SET ${REPLACE_SESSION}, end_reason = excluded.end_reason
  RETURNING site_id, id`;

const IDS = "SELECT id FROM json_to_recordset($3::text::json) AS r(id bigint)";
const LAST_SEEN = `
  INSERT INTO last_seen (site, kind, name, server, at)
  SELECT $1, person.kind, person.name, r.server,
    max(CASE r."endReason" WHEN 'checkin' THEN r."endedAt" ELSE r."lastSeenAt" END)
  FROM json_to_recordset($3::text::json)
      AS r(server text, "user" text, host text, "lastSeenAt" bigint, "endedAt" bigint, "endReason" text)
    CROSS JOIN LATERAL (VALUES ('user', r."user"), ('host', r.host)) AS person (kind, name)
  WHERE $2::int IS NOT NULL AND person.name IS NOT NULL GROUP BY person.kind, person.name, r.server
  ON CONFLICT (site, kind, name, server) DO UPDATE SET at = excluded.at WHERE last_seen.at < excluded.at`;

const SESSIONS_GONE = `DELETE FROM sessions WHERE site = $1 AND epoch = $2 AND site_id IN (${IDS})`;
const OPEN_GONE = `DELETE FROM open_sessions WHERE site = $1 AND epoch = $2 AND site_id IN (${IDS})`;

/** Stores sessions; maps the site's ids to the hub's. */
export async function storeSessions(
  tx: Sql,
  origin: Origin,
  rows: readonly (SessionRow & { change?: string })[],
): Promise<ReadonlyMap<number, number>> {
  type Ids = { readonly site_id: string; readonly id: string };
  // A late change may move the end, which is part of the row's partition key.
  await writeRows(
    tx,
    SESSIONS_GONE,
    origin,
    rows.filter(({ change }) => change === "changed"),
  );
  const open = rows.filter(({ endedAt }) => endedAt === null);
  const ended = rows.filter(({ endedAt }) => endedAt !== null);
  const ids = [
    await writtenRows<Ids>(tx, OPEN_SESSIONS, origin, open),
    await writtenRows<Ids>(tx, ENDED_SESSIONS, origin, ended),
  ];
  await writeRows(tx, LAST_SEEN, origin, ended);
  return new Map(ids.flat().map(({ site_id, id }) => [Number(site_id), Number(id)]));
}

const FEATURES = `
  INSERT INTO history_features (site, server, daemon, name, unit, seat_group)
  SELECT $1, r.server, r.daemon, r.feature, coalesce(r.unit, 'seats'), r."seatGroup"
  FROM json_to_recordset($3::text::json) AS r(server text, daemon text, feature text, unit text, "seatGroup" text)
  WHERE $2::int IS NOT NULL AND NOT EXISTS (SELECT 1 FROM history_features f
    WHERE f.site = $1 AND f.server = r.server AND f.daemon = r.daemon AND f.name = r.feature
      AND f.unit = coalesce(r.unit, 'seats') AND f.seat_group IS NOT DISTINCT FROM r."seatGroup")
  ON CONFLICT (site, server, daemon, name) DO UPDATE SET unit = excluded.unit, seat_group = excluded.seat_group`;

/** Gives an id to each new feature, and updates units and seat groups. */
export async function noteFeatures(
  tx: Sql,
  origin: Origin,
  rows: readonly (FeatureId & Shared)[],
): Promise<void> {
  const named = rows.map(({ server, daemon, feature, unit, seatGroup }) => {
    return [featureIdKey({ server, daemon, feature }), { server, daemon, feature, unit, seatGroup }] as const;
  });
  await writeRows(tx, FEATURES, origin, [...new Map(named).values()]);
}

const STEPS = `
  INSERT INTO steps (site, feature_id, at, total, used, reserved, queued, unlimited)
  SELECT $1, f.id, r.at, r.total, r.used, r.reserved, r.queued, r.unlimited
  FROM json_to_recordset($3::text::json) AS r(server text, daemon text, feature text, at bigint, total bigint, used bigint,
    reserved bigint, queued bigint, unlimited boolean)
  JOIN history_features f ON f.site = $1 AND f.server = r.server AND f.daemon = r.daemon AND f.name = r.feature
  WHERE $2::int IS NOT NULL
  ON CONFLICT (site, feature_id, at) DO UPDATE SET total = excluded.total, used = excluded.used,
    reserved = excluded.reserved, queued = excluded.queued, unlimited = excluded.unlimited`;

const COVERAGE = `
  INSERT INTO coverage (site, server, from_at, read_at, until_at, running, looks)
  SELECT $1, r.server, r."from", r."readAt", r."until", r.running, r.looks
  FROM json_to_recordset($3::text::json)
    AS r(server text, "from" bigint, "readAt" bigint, "until" bigint, running boolean, looks bigint)
  WHERE $2::int IS NOT NULL
  ON CONFLICT (site, server, from_at) DO UPDATE SET read_at = excluded.read_at, until_at = excluded.until_at,
    running = excluded.running, looks = excluded.looks`;

export const storeCoverage = (tx: Sql, origin: Origin, rows: readonly CoverageRow[]) =>
  writeRows(tx, COVERAGE, origin, rows);

const STATUSES = `
  INSERT INTO statuses (site, server, from_at, status, reason, read_at, until_at, next_by)
  SELECT $1, r.server, r."from", r.status, r.reason, r."readAt", r."until", r."nextBy"
  FROM json_to_recordset($3::text::json) AS r(server text, "from" bigint, status text, reason text, "readAt" bigint,
    "until" bigint, "nextBy" bigint)
  WHERE $2::int IS NOT NULL
  ON CONFLICT (site, server, from_at) DO UPDATE SET status = excluded.status, reason = excluded.reason,
    read_at = excluded.read_at, until_at = excluded.until_at, next_by = excluded.next_by`;

export const storeStatuses = (tx: Sql, origin: Origin, rows: readonly StatusRow[]) =>
  writeRows(tx, STATUSES, origin, rows);

const DENIALS = `
  INSERT INTO denials (site, epoch, site_id, server, daemon, feature, user_name, host, at, until, count, attempts, reason,
    code, outcome, told)
  SELECT $1, $2, r.id, r.server, r.daemon, r.feature, r."user", r.host, r.at, r."until", r.count, r.attempts, r.reason,
    r.code, r.outcome, r.told
  FROM json_to_recordset($3::text::json) AS r(id bigint, server text, daemon text, feature text, "user" text, host text,
    at bigint, "until" bigint, count bigint, attempts bigint, reason text, code bigint, outcome text, told boolean)
  ON CONFLICT (site, epoch, site_id, at) DO UPDATE SET server = excluded.server, daemon = excluded.daemon,
    feature = excluded.feature, user_name = excluded.user_name, host = excluded.host, until = excluded.until,
    count = excluded.count, attempts = excluded.attempts, reason = excluded.reason, code = excluded.code,
    outcome = excluded.outcome, told = excluded.told`;

export const storeDenials = (tx: Sql, origin: Origin, rows: readonly DenialRow[]) =>
  writeRows(tx, DENIALS, origin, rows);

const OUTCOMES = `
  UPDATE commands SET done_at = CASE r.outcome WHEN 'begun' THEN NULL ELSE r.now END, outcome = r.outcome, code = r.code,
    message = r.message, results = r.results::text, run = r.run::text
  FROM json_to_recordset($3::text::json)
    AS r(command text, outcome text, code text, message text, results json, run json, now bigint)
  WHERE site = $1 AND $2::int IS NOT NULL AND id = r.command AND done_at IS NULL`;

const ALERTS = `
  INSERT INTO alerts (site, epoch, site_id, rule, severity, server, daemon, feature, message, value, threshold, peak_value,
    started_at, fired_at, resolved_at, acknowledged_at, acknowledged_by, comment, silenced_until)
  SELECT $1, $2, r.id, r.rule, r.severity, r.server, r.daemon, r.feature, r.message, r.value, r.threshold, r."peakValue",
    r."startedAt", r."firedAt", r."resolvedAt", r."acknowledgedAt", r."acknowledgedBy", r.comment, r."silencedUntil"
  FROM json_to_recordset($3::text::json) AS r(id bigint, rule text, severity text, server text, daemon text, feature text,
    message text, value double precision, threshold double precision, "peakValue" double precision, "startedAt" bigint,
    "firedAt" bigint, "resolvedAt" bigint, "acknowledgedAt" bigint, "acknowledgedBy" text, comment text,
    "silencedUntil" bigint)
  ON CONFLICT (site, epoch, site_id) DO UPDATE SET severity = excluded.severity, message = excluded.message,
    value = excluded.value, threshold = excluded.threshold, peak_value = excluded.peak_value,
    started_at = excluded.started_at, fired_at = excluded.fired_at, resolved_at = excluded.resolved_at,
    acknowledged_at = excluded.acknowledged_at, acknowledged_by = excluded.acknowledged_by, comment = excluded.comment,
    silenced_until = excluded.silenced_until`;

export async function storeAlerts(tx: Sql, origin: Origin, alerts: readonly AlertRow[]): Promise<void> {
  const ms = (text: string | null) => (text === null ? null : Date.parse(text));
  const rows = alerts.map((alert) => ({
    ...alert,
    startedAt: ms(alert.startedAt),
    firedAt: ms(alert.firedAt),
    resolvedAt: ms(alert.resolvedAt),
    acknowledgedAt: ms(alert.acknowledgedAt),
    silencedUntil: ms(alert.silencedUntil),
  }));
  await writeRows(tx, ALERTS, origin, rows);
}

async function takeBack(tx: Sql, origin: Origin, row: FactOf<"gone">["row"]): Promise<void> {
  const { site, epoch } = origin;
  switch (row.of) {
    case "session":
      await writeRows(tx, SESSIONS_GONE, origin, [row]);
      return writeRows(tx, OPEN_GONE, origin, [row]);
    case "denial":
      await tx`DELETE FROM denials WHERE site = ${site} AND epoch = ${epoch} AND site_id = ${row.id}`;
      return;
    case "coverage":
      await tx`DELETE FROM coverage WHERE site = ${site} AND server = ${row.server} AND from_at = ${row.from}`;
      return;
    case "status":
      await tx`DELETE FROM statuses WHERE site = ${site} AND server = ${row.server} AND from_at = ${row.from}`;
      return;
    case "step":
      await tx`
        DELETE FROM steps USING history_features f
        WHERE steps.site = ${site} AND steps.feature_id = f.id AND steps.at = ${row.at} AND f.site = ${site}
          AND f.server = ${row.server} AND f.daemon = ${row.daemon} AND f.name = ${row.feature}`;
      return;
  }
}
