import { type Denial, denialRecord } from "../../domain/denials.ts";
import { serverAt } from "../../domain/server.ts";
import { durationSeconds } from "../../domain/session.ts";
import { iso } from "../../domain/time/clock.ts";
import type { DenialRow, Fact } from "../../fleet/protocol.ts";
import { type Sql, whole } from "../database/connect.ts";

type FactOf<Kind extends Fact["kind"]> = Extract<Fact, { readonly kind: Kind }>;
type SessionFact = FactOf<"session">;

/** An event to publish. `at` is epoch ms by the site's clock. */
interface NewEvent {
  readonly type: string;
  readonly at: number;
  readonly level?: string;
  readonly source?: string;
  /** Id of the server at the site. */
  readonly server: string | null;
  /** Id of the related alert at the site. */
  readonly alert?: number;
  /** All other fields except `site`, with the hub's ids. */
  readonly fields: object;
}

/**
 * Stores events in the transaction of their facts. Must run after the alerts are stored, because events
 * need the ids of alerts.
 */
export async function storeNewEvents(
  tx: Sql,
  site: string,
  epoch: number,
  events: readonly NewEvent[],
  now: number,
): Promise<void> {
  if (events.length === 0) return;
  const rows = rowsOf(events, site).map((row, n) => ({ ...row, n }));
  await tx.unsafe(NEW_EVENTS, [site, epoch, JSON.stringify(rows), now]);
}

function rowsOf(events: readonly NewEvent[], site: string): object[] {
  const name = JSON.stringify(site);
  const headOf = (at: number) => `{"timestamp":"${iso(at)}","site":${name}`;
  const restOf = (fields: object) => `,${JSON.stringify(fields).slice(1)}`;
  const rows: object[] = [];
  for (let at = 0; at < events.length; ) {
    const run = events.slice(at, at + MAX_PACKED);
    const end = run.findIndex(({ type }) => !isOfSeats(type));
    const seats = end === -1 ? run : run.slice(0, end);
    const [first] = run;
    if (first !== undefined && seats.length === 0) {
      const { fields, ...row } = first;
      rows.push({ ...row, number: 1, head: headOf(row.at), rest: restOf(fields) });
    } else {
      const packed = packEvents(
        seats.map(({ type, at, fields }) => ({ type, body: headOf(at) + restOf(fields) })),
      );
      rows.push({ type: "seats", at: first?.at, number: seats.length, packed: packed.toBase64() });
    }
    at += Math.max(1, seats.length);
  }
  return rows;
}

const isOfSeats = (type: string) => type === "checkout" || type === "checkin";

// If the alert is missing, the body becomes null and violates the table's constraint.
const NEW_EVENTS = `
  INSERT INTO new_events (received_at, at, site, type, level, source, server, body, number, packed)
  SELECT $4, r.at, $1, r.type, r.level, r.source, r.server, r.head || CASE
    WHEN r.alert IS NOT NULL THEN ',"alert":' ||
      (SELECT a.id FROM alerts a WHERE a.site = $1 AND a.epoch = $2 AND a.site_id = r.alert)
    ELSE '' END || r.rest, r.number, decode(r.packed, 'base64')
  FROM json_to_recordset($3::text::json) AS r(n integer, at bigint, type text, level text, source text, server text,
    alert bigint, head text, rest text, number integer, packed text)
  ORDER BY r.n`;

/**
 * Rebuilds the events of sessions and denials, which a site does not send. `sessionIds` maps the site's ids
 * to the hub's ids; `told` are denials whose event the site has published since the last push.
 */
export async function eventsOf(
  tx: Sql,
  site: string,
  facts: readonly Fact[],
  sessionIds: ReadonlyMap<number, number>,
  told: ReadonlySet<number>,
): Promise<NewEvent[]> {
  const sessions = facts.filter((fact): fact is SessionFact => fact.kind === "session" && isPublished(fact));
  const intervals = await intervalsOf(tx, site, new Set(sessions.map(({ server }) => server)));
  const denials = new Map(facts.flatMap((fact) => (fact.kind === "denial" ? [[fact.id, fact]] : [])));
  return facts.flatMap((fact) => {
    if (fact.kind === "event") return publishedEvent(site, fact);
    if (fact.kind === "denial")
      return told.has(fact.id) && denials.get(fact.id) === fact ? denialEvent(site, fact) : [];
    if (fact.kind !== "session" || !isPublished(fact)) return [];
    const session = sessionIds.get(fact.id);
    if (session === undefined) throw new Error("A session that was just stored has no id");
    return sessionEvent(site, fact, session, intervals.get(fact.server) ?? USUAL_INTERVAL_MS);
  });
}

/**
 * Reports whether the site published an event for this change. It publishes none for imported sessions
 * (negative ids), and none for seats found by the first reading of a server.
 */
const isPublished = ({ id, change, announced }: SessionFact) =>
  id >= 0 && (change === "ended" || (change === "opened" && announced));

/** Assumed poll interval of a server whose picture has not arrived yet. */
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

/**
 * Builds the event with the values at its poll. The fact of an opened session may already contain the end
 * of the session, which is left out of the event.
 */
function sessionEvent(site: string, fact: SessionFact, session: number, intervalMs: number): NewEvent {
  const { change, daemon, feature, user, host, version, count, handle, firstSeenAt } = fact;
  const isEnd = change === "ended";
  const stood = isEnd ? fact : { ...fact, lastSeenAt: firstSeenAt, endedAt: null, endReason: null };
  const { startedAt, lastSeenAt, endedAt, endReason } = stood;
  const at = endedAt ?? firstSeenAt;
  const seconds = durationSeconds({ ...stood, display: null, qualifier: null }, at, intervalMs);
  const server = serverAt(site, fact.server);
  const who = { session, server, daemon, feature, user, host, display: null, version, count, handle };
  const seen = { startedAt: iso(startedAt), firstSeenAt: iso(firstSeenAt), lastSeenAt: iso(lastSeenAt) };
  const ended = { endedAt: iso(endedAt), endReason, durationSeconds: seconds };
  const fields = Object.assign(who, seen, ended);
  return { type: isEnd ? "checkin" : "checkout", at, server: fact.server, fields };
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

/**
 * Returns the denials whose outcome becomes final with this push. Must run before these denials are stored.
 */
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

/**
 * Packs checkouts and checkins: 60 bytes per event instead of 450. Each event is a line with its type, a
 * tab, and its JSON without `type` and `id`.
 */

/** Maximum number of events in one packed row. */
const MAX_PACKED = 200;
const LEVEL = 1;

interface PackedEvent {
  readonly type: string;
  readonly body: string;
}

function packEvents(events: readonly PackedEvent[]): Buffer {
  return Bun.zstdCompressSync(events.map(({ type, body }) => `${type}\t${body}`).join("\n"), {
    level: LEVEL,
  });
}

export function unpackEvents(packed: Uint8Array): PackedEvent[] {
  const lines = Bun.zstdDecompressSync(packed).toString().split("\n");
  return lines.map((line) => {
    const tab = line.indexOf("\t");
    return { type: line.slice(0, tab), body: line.slice(tab + 1) };
  });
}
