import { type Denial, denialRecord } from "../../domain/denials.ts";
import { durationSeconds } from "../../domain/session.ts";
import { iso } from "../../domain/time/clock.ts";
import type { DenialRow, Fact } from "../../fleet/protocol.ts";
import { type Sql, whole } from "../database/connect.ts";

/** As `serverAt` of the lists, which are made of what pushes store. */
const serverAt = (site: string, server: string) => `${site}:${server}`;

type FactOf<Kind extends Fact["kind"]> = Extract<Fact, { readonly kind: Kind }>;
type SessionFact = FactOf<"session">;

/** An event that is to be published, by the site's own ids. `at`: epoch ms by the site's clock. */
export interface NewEvent {
  readonly type: string;
  readonly at: number;
  readonly level?: string;
  readonly source?: string;
  readonly server: string | null;
  /** The site's id of the session that it is about. `endedAt` says where the hub has it: null = among the open ones. */
  readonly session?: { readonly id: number; readonly endedAt: number | null };
  /** The site's id of the alert that it is about. */
  readonly alert?: number;
  /** All other fields, but `site`, as the hub shows them. */
  readonly fields: object;
}

/** In the transaction of what they tell of, which must be stored already: the hub's ids of sessions and alerts are there. */
export async function storeNewEvents(
  tx: Sql,
  site: string,
  epoch: number,
  events: readonly NewEvent[],
  now: number,
): Promise<void> {
  if (events.length === 0) return;
  const rows = events.map(({ session, alert, fields, ...event }, n) => ({
    ...event,
    n,
    session: session?.id ?? null,
    ended: session?.endedAt ?? null,
    alert: alert ?? null,
    head: `{"timestamp":"${iso(event.at)}","site":${JSON.stringify(site)}`,
    rest: `,${JSON.stringify(fields).slice(1)}`,
  }));
  await tx.unsafe(NEW_EVENTS, [site, epoch, JSON.stringify(rows), now]);
}

const OF_SITE = (of: string, id: string) =>
  `${of}.site = $1 AND ${of}.epoch = $2 AND ${of}.site_id = r.${id}`;
// A session or an alert that is not there makes the body null, which no row takes.
const NEW_EVENTS = `
  INSERT INTO new_events (received_at, at, site, type, level, source, server, body)
  SELECT $4, r.at, $1, r.type, r.level, r.source, r.server, r.head || CASE
    WHEN r.session IS NOT NULL THEN ',"session":' || coalesce(
      (SELECT o.id FROM open_sessions o WHERE ${OF_SITE("o", "session")}),
      (SELECT s.id FROM sessions s WHERE ${OF_SITE("s", "session")} AND s.ended_at = r.ended))
    WHEN r.alert IS NOT NULL THEN ',"alert":' || (SELECT a.id FROM alerts a WHERE ${OF_SITE("a", "alert")})
    ELSE '' END || r.rest
  FROM json_to_recordset($3::text::json) AS r(n integer, at bigint, type text, level text, source text, server text,
    session bigint, ended bigint, alert bigint, head text, rest text)
  ORDER BY r.n`;

/**
 * What the site published, made of its facts: of sessions and denials it sends none of its events, only how they stand.
 * `told` are denials of which it has published an event since the hub heard of them last.
 */
export async function eventsOf(
  tx: Sql,
  site: string,
  facts: readonly Fact[],
  told: ReadonlySet<number>,
): Promise<NewEvent[]> {
  const sessions = facts.filter((fact): fact is SessionFact => fact.kind === "session" && isPublished(fact));
  const intervals = await intervalsOf(tx, site, new Set(sessions.map(({ server }) => server)));
  // Of several facts about a session the last one says where it is stored.
  const ends = new Map(facts.flatMap((fact) => (fact.kind === "session" ? [[fact.id, fact.endedAt]] : [])));
  const denials = new Map(facts.flatMap((fact) => (fact.kind === "denial" ? [[fact.id, fact]] : [])));
  return facts.flatMap((fact) => {
    if (fact.kind === "event") return publishedEvent(site, fact);
    if (fact.kind === "denial")
      return told.has(fact.id) && denials.get(fact.id) === fact ? denialEvent(site, fact) : [];
    if (fact.kind !== "session" || !isPublished(fact)) return [];
    return sessionEvent(
      site,
      fact,
      ends.get(fact.id) ?? null,
      intervals.get(fact.server) ?? USUAL_INTERVAL_MS,
    );
  });
}

/** Imported sessions have ids below 0. Seats that a server's first reading finds taken are not announced. */
const isPublished = ({ id, change, announced }: SessionFact) =>
  id >= 0 && (change === "ended" || (change === "opened" && announced));

/** Of a server whose picture has not come yet. */
const USUAL_INTERVAL_MS = 60_000;

async function intervalsOf(
  tx: Sql,
  site: string,
  servers: ReadonlySet<string>,
): Promise<Map<string, number>> {
  if (servers.size === 0) return new Map();
  const rows: { server: string; ms: string }[] = await tx`
    SELECT server, head::json #>> '{server,intervalMs}' AS ms FROM servers
    WHERE site = ${site} AND head IS NOT NULL AND server IN ${tx([...servers])}`;
  return new Map(rows.map(({ server, ms }) => [server, Number(ms)]));
}

/** As the poll published it that saw the change: an opened session's fact may say that it has ended since. */
function sessionEvent(
  site: string,
  fact: SessionFact,
  storedEnd: number | null,
  intervalMs: number,
): NewEvent {
  const { kind: _, seq: __, change, announced: ___, id, beganAt, ...row } = fact;
  const server = serverAt(site, fact.server);
  const hasEnded = change === "ended" && row.endedAt !== null;
  const ends = hasEnded ? {} : { lastSeenAt: row.firstSeenAt, endedAt: null, endReason: null };
  const stood = { ...row, ...ends, server, display: null };
  const { startedAt, firstSeenAt, lastSeenAt, endedAt } = stood;
  const at = endedAt ?? firstSeenAt;
  const session = { ...stood, id, qualifier: null, beganAt };
  const times = { startedAt: iso(startedAt), firstSeenAt: iso(firstSeenAt), lastSeenAt: iso(lastSeenAt) };
  const durations = { endedAt: iso(endedAt), durationSeconds: durationSeconds(session, at, intervalMs) };
  return {
    type: change === "ended" ? "checkin" : "checkout",
    at,
    server: fact.server,
    session: { id, endedAt: storedEnd },
    fields: { ...stood, ...times, ...durations },
  };
}

function denialEvent(site: string, { server, ...row }: DenialRow): NewEvent {
  const denial: Denial = { ...row, server: serverAt(site, server) };
  const { timestamp: deniedAt, ...fields } = denialRecord(denial);
  return { type: "denial", at: row.until, server, fields: { deniedAt, ...fields } };
}

function publishedEvent(site: string, { event: { id: _, timestamp, ...event } }: FactOf<"event">): NewEvent {
  const at = Date.parse(timestamp);
  const shown = (server: string | null) => (server === null ? null : serverAt(site, server));
  if (event.type === "alert") {
    const { type, alert, ...fields } = event;
    return { type, at, server: event.server, alert, fields: { ...fields, server: shown(event.server) } };
  }
  if (event.type === "server_status") {
    const { type, ...fields } = event;
    return { type, at, server: event.server, fields: { ...fields, server: shown(event.server) } };
  }
  const { type, metadata, ...fields } = event;
  const server = typeof metadata.server === "string" ? metadata.server : null;
  const words = server === null ? metadata : { ...metadata, server: shown(server) };
  return {
    type,
    at,
    level: event.level,
    source: event.source,
    server,
    fields: { ...fields, metadata: words },
  };
}

/** Ids of the denials whose outcome is final only now: before they are stored. */
export async function newlyTold(
  tx: Sql,
  site: string,
  epoch: number,
  denials: readonly DenialRow[],
): Promise<ReadonlySet<number>> {
  const told = denials.filter((row) => row.told).map(({ id, at }) => ({ id, at }));
  if (told.length === 0) return new Set();
  const before: { site_id: string }[] = await tx.unsafe(KNOWN_AS_TOLD, [site, epoch, JSON.stringify(told)]);
  const known = new Set(before.map(({ site_id }) => whole(site_id)));
  return new Set(told.map(({ id }) => id).filter((id) => !known.has(id)));
}

const KNOWN_AS_TOLD = `
  SELECT d.site_id FROM json_to_recordset($3::text::json) AS r(id bigint, at bigint)
  JOIN denials d ON d.site = $1 AND d.epoch = $2 AND d.site_id = r.id AND d.at = r.at WHERE d.told`;
