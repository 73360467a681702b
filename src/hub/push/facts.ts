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

/**
 * Runs a statement with the parameters `$1` (the site), `$2` (the rows as JSON) and, if the statement has
 * it, `$3` (the site's epoch).
 */
export async function writeRows<Returned>(
  tx: Sql,
  sql: string,
  { site, epoch }: Origin,
  rows: readonly unknown[],
): Promise<readonly Returned[]> {
  if (rows.length === 0) return [];
  return tx.unsafe(sql, [site, JSON.stringify(rows), ...(sql.includes("$3") ? [epoch] : [])]);
}

const columnsOf = (list: string) =>
  list.split(/,\s+/).map((spec) => {
    const [, name = "", field = "", type = ""] = /^(\w+)(?: of "(\w+)")? (.+)$/.exec(spec) ?? [];
    const camel = name.replaceAll(/_[a-z]/g, ([, letter = ""]) => letter.toUpperCase());
    return { name, field: `"${field || camel}"`, type };
  });

/**
 * Builds an upsert of rows with the columns in `list`. By default the JSON field of a column `started_at`
 * is `startedAt`; `of` names another field. `key` lists the columns that identify a row.
 */
export function upsert(table: string, key: string, list: string): string {
  const columns = columnsOf(list);
  const epoch = key.includes("epoch") ? ["epoch"] : [];
  const replaced = columns.filter(({ name }) => !key.split(", ").includes(name));
  return `
    INSERT INTO ${table} (site, ${[...epoch, ...columns.map(({ name }) => name)].join(", ")})
    SELECT $1, ${[...epoch.map(() => "$3"), ...columns.map(({ field }) => `r.${field}`)].join(", ")}
    FROM json_to_recordset($2::text::json) AS r(${columns.map(({ field, type }) => `${field} ${type}`).join(", ")})
    ON CONFLICT (${key}) DO UPDATE SET ${replaced.map(({ name }) => `${name} = excluded.${name}`).join(", ")}`;
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
    // Keep removals in order: a removed row may have been stored before, and may be sent again later.
    const end = rest.findIndex(({ kind }) => kind === "gone");
    await storeRun(tx, origin, end === -1 ? rest : rest.slice(0, end), now);
    const gone = rest[end];
    if (gone?.kind === "gone") await takeBack(tx, origin, gone.row);
    rest = end === -1 ? [] : rest.slice(end + 1);
  }
}

/** Identifies the row of a fact. */
const KEY_OF: { readonly [Kind in FactKind]?: (fact: FactOf<Kind>) => unknown } = {
  session: ({ id }) => id,
  step: (step) => `${featureIdKey(step)}\0${step.at}`,
  coverage: ({ server, from }) => `${from} ${server}`,
  status: ({ server, from }) => `${from} ${server}`,
  denial: ({ id }) => id,
  outcome: ({ command }) => command,
};

/** Stores facts without removals; the last fact about a row wins. */
async function storeRun(tx: Sql, origin: Origin, facts: readonly Fact[], now: number): Promise<void> {
  const last = <Kind extends FactKind>(kind: Kind) => {
    const rows = facts.filter((fact): fact is FactOf<Kind> => fact.kind === kind);
    return [...new Map(rows.map((row) => [KEY_OF[kind]?.(row), row])).values()];
  };
  const { site, epoch } = origin;
  const sessionIds = await storeSessions(tx, origin, last("session"));
  const steps = last("step");
  await noteFeatures(tx, origin, steps);
  await writeRows(tx, STEPS, origin, steps);
  await storeCoverage(tx, origin, last("coverage"));
  await storeStatuses(tx, origin, last("status"));
  const denials = last("denial");
  const told = await newlyTold(tx, site, epoch, denials);
  await storeDenials(tx, origin, denials);
  const alerts = facts.flatMap((fact) =>
    fact.kind === "event" && fact.event.type === "alert" ? [[fact.event.alert, fact.event] as const] : [],
  );
  const newest = [...new Map(alerts)].map(([id, event]) => ({ ...event, id }));
  await storeAlerts(tx, origin, newest);
  await storeNewEvents(tx, site, epoch, await eventsOf(tx, site, facts, sessionIds, told), now);
  const outcomes = last("outcome").map((row) => ({ ...row, now }));
  await writeRows(tx, OUTCOMES, origin, outcomes);
}

const SESSION = `server text, daemon text, feature text, user_name of "user" text, host text, version text, count bigint,
  handle text, started_at bigint, began_at bigint, first_seen_at bigint, last_seen_at bigint`;
const SESSION_COLUMNS = columnsOf(SESSION);
const NAMES = SESSION_COLUMNS.map(({ name }) => name).join(", ");
const VALUES = SESSION_COLUMNS.map(({ field }) => `r.${field}`).join(", ");

const OPEN_SESSIONS = `${upsert("open_sessions", "site, epoch, site_id", `site_id of "id" bigint, ${SESSION}`)}
  RETURNING site_id, id`;

/** An ended session keeps the id that the hub gave it while it was open. */
const ENDED_SESSIONS = `
  WITH r AS (
    SELECT * FROM json_to_recordset($2::text::json) 
      AS r(id bigint, ${SESSION_COLUMNS.map(({ field, type }) => `${field} ${type}`).join(", ")}, "endedAt" bigint,
        "endReason" text)
  ), closed AS (
    DELETE FROM open_sessions o USING r WHERE o.site = $1 AND o.epoch = $3 AND o.site_id = r.id
    RETURNING o.site_id, o.id
  )
  INSERT INTO sessions (site, epoch, site_id, id, ${NAMES}, ended_at, end_reason)
  SELECT $1, $3, r.id, coalesce(closed.id, nextval('session_ids')), ${VALUES}, r."endedAt", r."endReason"
  FROM r LEFT JOIN closed ON closed.site_id = r.id
  ON CONFLICT (site, epoch, site_id, ended_at) DO UPDATE
    SET (${NAMES}, end_reason) = (${NAMES.replaceAll(/\w+/g, "excluded.$&")}, excluded.end_reason)
  RETURNING site_id, id`;

const IDS = "SELECT id FROM json_to_recordset($2::text::json) AS r(id bigint)";
const LAST_SEEN = `
  INSERT INTO last_seen (site, kind, name, server, at)
  SELECT $1, person.kind, person.name, r.server,
    max(CASE r."endReason" WHEN 'checkin' THEN r."endedAt" ELSE r."lastSeenAt" END)
  FROM json_to_recordset($2::text::json)
      AS r(server text, "user" text, host text, "lastSeenAt" bigint, "endedAt" bigint, "endReason" text)
    CROSS JOIN LATERAL (VALUES ('user', r."user"), ('host', r.host)) AS person (kind, name)
  WHERE person.name IS NOT NULL GROUP BY person.kind, person.name, r.server
  ON CONFLICT (site, kind, name, server) DO UPDATE SET at = excluded.at WHERE last_seen.at < excluded.at`;

const SESSIONS_GONE = `DELETE FROM sessions WHERE site = $1 AND epoch = $3 AND site_id IN (${IDS})`;
const OPEN_GONE = `DELETE FROM open_sessions WHERE site = $1 AND epoch = $3 AND site_id IN (${IDS})`;

/** Stores sessions. Returns a map from the site's ids to the hub's ids. */
export async function storeSessions(
  tx: Sql,
  origin: Origin,
  rows: readonly (SessionRow & { change?: string })[],
): Promise<ReadonlyMap<number, number>> {
  type Ids = { readonly site_id: string; readonly id: string };
  // Delete the old rows first: a late change may move the end of a session, and the end is part of the
  // partition key.
  await writeRows(
    tx,
    SESSIONS_GONE,
    origin,
    rows.filter(({ change }) => change === "changed"),
  );
  const open = rows.filter(({ endedAt }) => endedAt === null);
  const ended = rows.filter(({ endedAt }) => endedAt !== null);
  const ids = [
    await writeRows<Ids>(tx, OPEN_SESSIONS, origin, open),
    await writeRows<Ids>(tx, ENDED_SESSIONS, origin, ended),
  ];
  await writeRows(tx, LAST_SEEN, origin, ended);
  return new Map(ids.flat().map(({ site_id, id }) => [Number(site_id), Number(id)]));
}

const FEATURES = `
  INSERT INTO history_features (site, server, daemon, name, unit, seat_group)
  SELECT $1, r.server, r.daemon, r.feature, coalesce(r.unit, 'seats'), r."seatGroup"
  FROM json_to_recordset($2::text::json) AS r(server text, daemon text, feature text, unit text, "seatGroup" text)
  WHERE NOT EXISTS (SELECT 1 FROM history_features f
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
  FROM json_to_recordset($2::text::json) AS r(server text, daemon text, feature text, at bigint, total bigint, used bigint,
    reserved bigint, queued bigint, unlimited boolean)
  JOIN history_features f ON f.site = $1 AND f.server = r.server AND f.daemon = r.daemon AND f.name = r.feature
  ON CONFLICT (site, feature_id, at) DO UPDATE SET total = excluded.total, used = excluded.used,
    reserved = excluded.reserved, queued = excluded.queued, unlimited = excluded.unlimited`;

const COVERAGE = upsert(
  "coverage",
  "site, server, from_at",
  `server text, from_at of "from" bigint, read_at bigint, until_at of "until" bigint, running boolean, looks bigint`,
);

export const storeCoverage = (tx: Sql, origin: Origin, rows: readonly CoverageRow[]) =>
  writeRows(tx, COVERAGE, origin, rows);

const STATUSES = upsert(
  "statuses",
  "site, server, from_at",
  `server text, from_at of "from" bigint, status text, reason text, read_at bigint, until_at of "until" bigint,
    next_by bigint`,
);

export const storeStatuses = (tx: Sql, origin: Origin, rows: readonly StatusRow[]) =>
  writeRows(tx, STATUSES, origin, rows);

const DENIALS = upsert(
  "denials",
  "site, epoch, site_id, at",
  `site_id of "id" bigint, server text, daemon text, feature text, user_name of "user" text, host text, at bigint,
    until bigint, count bigint, attempts bigint, reason text, code bigint, outcome text, told boolean`,
);

export const storeDenials = (tx: Sql, origin: Origin, rows: readonly DenialRow[]) =>
  writeRows(tx, DENIALS, origin, rows);

const OUTCOMES = `
  UPDATE commands SET done_at = CASE r.outcome WHEN 'begun' THEN NULL ELSE r.now END, outcome = r.outcome, code = r.code,
    message = r.message, results = r.results::text, run = r.run::text
  FROM json_to_recordset($2::text::json)
    AS r(command text, outcome text, code text, message text, results json, run json, now bigint)
  WHERE site = $1 AND id = r.command AND done_at IS NULL`;

const ALERTS = upsert(
  "alerts",
  "site, epoch, site_id",
  `site_id of "id" bigint, rule text, severity text, server text, daemon text, feature text, message text,
    value double precision, threshold double precision, peak_value double precision, started_at bigint, fired_at bigint,
    resolved_at bigint, acknowledged_at bigint, acknowledged_by text, comment text, silenced_until bigint`,
);

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

async function takeBack(tx: Sql, origin: Origin, row: FactOf<"gone">["row"]): Promise<unknown> {
  const { site, epoch } = origin;
  switch (row.of) {
    case "session":
      await writeRows(tx, SESSIONS_GONE, origin, [row]);
      return writeRows(tx, OPEN_GONE, origin, [row]);
    case "denial":
      return tx`DELETE FROM denials WHERE site = ${site} AND epoch = ${epoch} AND site_id = ${row.id}`;
    case "coverage":
      return tx`DELETE FROM coverage WHERE site = ${site} AND server = ${row.server} AND from_at = ${row.from}`;
    case "status":
      return tx`DELETE FROM statuses WHERE site = ${site} AND server = ${row.server} AND from_at = ${row.from}`;
    case "step":
      return tx`
        DELETE FROM steps USING history_features f
        WHERE steps.site = ${site} AND steps.feature_id = f.id AND steps.at = ${row.at} AND f.site = ${site}
          AND f.server = ${row.server} AND f.daemon = ${row.daemon} AND f.name = ${row.feature}`;
  }
}
