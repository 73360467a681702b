import { SessionRecord } from "../../domain/history-records.ts";
import type { EndReason, Session } from "../../domain/session.ts";
import { holdingsAt } from "../../domain/stats/held-seats.ts";
import { type SessionsQuery, sessionRecord } from "../../history/sessions/session-list.ts";
import { namesFor, type Pseudonyms } from "../../http/anonymous/anonymous.ts";
import type { Answer, Formatted } from "../../http/answers/answer.ts";
import { rowsAnswer } from "../../http/answers/list.ts";
import { type Pool, whole } from "../database/connect.ts";
import { createConditions } from "../lists/conditions.ts";
import { serverAt } from "../lists/directory.ts";
import { peopleIn, personConditions } from "./people.ts";

const COLUMNS = `site, epoch, site_id, id, server, daemon, feature, user_name, host, version, count, handle, started_at, began_at,
  first_seen_at, last_seen_at`;
const ORDERS: Readonly<Record<SessionsQuery["sort"]["field"], string>> = {
  firstSeenAt: "first_seen_at",
  lastSeenAt: "last_seen_at",
  endedAt: "ended_at",
  startedAt: "started_at",
  count: "count",
};

export type SessionsAsked = SessionsQuery & Formatted;

/** Who had what, when: sorted, cut and counted by PostgreSQL. Ties go by the sites' numbers, as at the sites. */
export async function sessionsAnswer(
  pool: Pool,
  asked: SessionsAsked,
  pseudonyms: Pseudonyms | null,
): Promise<Answer> {
  const { start, end, sort, limit, offset, now } = asked;
  const stored = await peopleIn(pool, asked.filter, pseudonyms, ["open_sessions", "sessions"]);
  const people = namesFor(pseudonyms, () => stored);
  const conditions = createConditions();
  personConditions(conditions, people.wanted(asked.filter));
  if (end !== null) conditions.add(`began_at < ${conditions.use(end)}`);
  const where = conditions.where();
  const ended = start === null ? "" : `AND ended_at > ${conditions.use(start)}`;
  const open = `SELECT ${COLUMNS}, NULL::bigint AS ended_at, NULL::text AS end_reason FROM open_sessions WHERE ${where}`;
  const all = `(SELECT ${COLUMNS}, ended_at, end_reason FROM sessions WHERE ${where} ${ended}
    ${start === null || start < now ? `UNION ALL ${open}` : ""}) s`;
  const counted = [...conditions.values];
  const way = sort.descending ? "DESC" : "ASC";
  const page = `LIMIT ${conditions.use(limit)} OFFSET ${conditions.use(offset)}`;
  // What is never null is sorted by its index where nothing is said of nulls.
  const nulls = sort.field === "endedAt" || sort.field === "startedAt" ? "NULLS LAST" : "";
  const order = `${ORDERS[sort.field]} ${way} ${nulls}, site, epoch, site_id ${way}`;
  const [[{ total }], rows] = await Promise.all([
    pool.unsafe(`SELECT count(*)::int AS total FROM ${all}`, counted),
    pool.unsafe(`SELECT * FROM ${all} ORDER BY ${order} ${page}`, conditions.values),
  ]);
  const sessions = (rows as Row[]).map((row) => ({
    site: row.site,
    siteId: Number(row.site_id),
    session: sessionOf(row),
  }));
  const held = holdingsAt(
    await lastReadings(
      pool,
      sessions.map(({ session }) => session.server),
    ),
    asked,
  );
  const records = sessions.map(({ site, siteId, session }) => {
    const shown = sessionRecord(session, held);
    return {
      site,
      ...shown,
      user: people.user(shown.user),
      host: people.host(shown.host),
      display: people.text(shown.display),
      siteId: people.session(siteId),
    };
  });
  return rowsAnswer("sessions", SessionRecord, records, total, asked);
}

type Row = Readonly<Record<string, string | null>> & { readonly site: string; readonly site_id: string };

function sessionOf(row: Row): Session {
  return {
    id: Number(row.id),
    server: serverAt(row.site, row.server ?? ""),
    daemon: row.daemon ?? "",
    feature: row.feature ?? "",
    user: row.user_name ?? null,
    host: row.host ?? null,
    // These two never leave a site.
    display: null,
    qualifier: null,
    version: row.version ?? null,
    count: Number(row.count),
    handle: row.handle ?? null,
    startedAt: whole(row.started_at),
    beganAt: Number(row.began_at),
    firstSeenAt: Number(row.first_seen_at),
    lastSeenAt: Number(row.last_seen_at),
    endedAt: whole(row.ended_at),
    endReason: (row.end_reason ?? null) as EndReason | null,
  };
}

/** The last good reading of these servers: an open session's row does not follow each poll. */
async function lastReadings(pool: Pool, servers: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const conditions = createConditions();
  conditions.servers("c", [...new Set(servers)]);
  const rows = await pool.unsafe(
    `SELECT site, server, max(read_at) AS read_at FROM coverage c WHERE ${conditions.where()} GROUP BY site, server`,
    conditions.values,
  );
  return new Map(rows.map((row: Row) => [serverAt(row.site, row.server ?? ""), Number(row.read_at)]));
}
