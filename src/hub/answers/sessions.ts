import { SessionRecord } from "../../domain/history-records.ts";
import { serverAt } from "../../domain/server.ts";
import type { EndReason, Session } from "../../domain/session.ts";
import { holdingsAt } from "../../domain/stats/held-seats.ts";
import type { QueryParams } from "../../history/serve.ts";
import { sessionRecord } from "../../history/sessions/session-list.ts";
import {
  type Dialect,
  isOfNames,
  needsReadings,
  sessionOrder,
} from "../../history/sessions/session-order.ts";
import { namesFor, type Pseudonyms } from "../../http/anonymous/anonymous.ts";
import type { Answer } from "../../http/answers/answer.ts";
import { rowsAnswer } from "../../http/answers/list.ts";
import type { HistoryAnswers } from "../../http/history-answers/answers.ts";
import { type Pool, whole } from "../database/connect.ts";
import { createConditions } from "../lists/conditions.ts";
import { peopleIn, personConditions, placesIn } from "./people.ts";

const COLUMNS = `site, epoch, site_id, id, server, daemon, feature, user_name, host, version, count, handle, started_at, began_at,
  first_seen_at, last_seen_at`;
const TABLES = ["open_sessions", "sessions"];
const SHOWN_COLUMNS: Dialect["columns"] = {
  id: "s.id",
  server: "(s.site || ':' || s.server)",
  daemon: "s.daemon",
  feature: "s.feature",
  user: "s.user_name",
  host: "s.host",
  // Displays never leave a site.
  display: "NULL::text",
  version: "s.version",
  count: "s.count",
  handle: "s.handle",
  startedAt: "s.started_at",
  beganAt: "s.began_at",
  firstSeenAt: "s.first_seen_at",
  lastSeenAt: "s.last_seen_at",
  endedAt: "s.ended_at",
  endReason: "s.end_reason",
};

/** Answers sessions. PostgreSQL sorts, cuts and counts them; ties are ordered by the ids of the sites, as at the sites. */
export async function sessionsAnswer(
  pool: Pool,
  asked: QueryParams<HistoryAnswers, "sessions">,
  pseudonyms: Pseudonyms | null,
): Promise<Answer> {
  const { start, end, sort, limit, offset, now } = asked;
  const stored = await peopleIn(pool, asked.filter, pseudonyms, TABLES);
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
  const dialect: Dialect = {
    use: conditions.use,
    items: (json) => `json_array_elements(${json}::text::json)`,
    larger: "greatest",
    columns: SHOWN_COLUMNS,
  };
  const { head, joins, terms } = sessionOrder(dialect, sort, {
    ...asked,
    lastReadings: needsReadings(sort) ? await lastReadings(pool, null) : new Map(),
    places:
      pseudonyms &&
      (isOfNames(sort.field) ? await placesIn(pool, asked.filter, sort.field, pseudonyms, TABLES) : []),
  });
  const page = `LIMIT ${conditions.use(limit)} OFFSET ${conditions.use(offset)}`;
  const order = [...terms, "s.site", "s.epoch", `s.site_id ${sort.descending ? "DESC" : "ASC"}`].join(", ");
  const [[{ total }], rows] = await Promise.all([
    pool.unsafe(`SELECT count(*)::int AS total FROM ${all}`, counted),
    pool.unsafe(`${head} SELECT s.* FROM ${all} ${joins} ORDER BY ${order} ${page}`, conditions.values),
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
    // Displays and qualifiers never leave a site.
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

/**
 * Returns the time of the last good reading of each server, null = all servers. Rows of open sessions are not
 * updated at each poll.
 */
async function lastReadings(
  pool: Pool,
  servers: readonly string[] | null,
): Promise<ReadonlyMap<string, number>> {
  const conditions = createConditions();
  conditions.servers("c", servers && [...new Set(servers)]);
  const rows = await pool.unsafe(
    `SELECT site, server, max(read_at) AS read_at FROM coverage c WHERE ${conditions.where()} GROUP BY site, server`,
    conditions.values,
  );
  return new Map(rows.map((row: Row) => [serverAt(row.site, row.server ?? ""), Number(row.read_at)]));
}
