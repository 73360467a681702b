import { AlertRecord, alertRecord, anonymousAlert } from "../../domain/alerts.ts";
import { type Denial, DenialRecord, denialRecord } from "../../domain/denials.ts";
import { SessionRecord } from "../../domain/history-records.ts";
import { sqlNullsLast } from "../../domain/order.ts";
import { serverAt } from "../../domain/server.ts";
import type { Session } from "../../domain/session.ts";
import { holdingsAt } from "../../domain/stats/held-seats.ts";
import type { QueryParams } from "../../history/serve.ts";
import { sessionRecord } from "../../history/sessions/session-list.ts";
import {
  type Dialect,
  isOfNames,
  needsReadings,
  type SessionField,
  sessionOrder,
} from "../../history/sessions/session-order.ts";
import { namesFor, type Pseudonyms } from "../../http/anonymous/anonymous.ts";
import type { Answer } from "../../http/answers/answer.ts";
import { rowsAnswer } from "../../http/answers/list.ts";
import type { HistoryAnswers } from "../../http/history-answers/answers.ts";
import type { DenialQuery, DenialSort } from "../../store/denial-queries.ts";
import { type AlertAtHubRow, alertOf, ownerOf } from "../alerts/stored-alerts.ts";
import { fromRow, type Pool } from "../database/connect.ts";
import { createConditions, readPage } from "../lists/conditions.ts";
import { ofSites, peopleIn, personConditions, placesIn } from "./people.ts";

/** Answers sessions; equal rows are in the order of the sites' own ids. */
export async function sessionsAnswer(
  pool: Pool,
  asked: QueryParams<HistoryAnswers, "sessions">,
  pseudonyms: Pseudonyms | null,
): Promise<Answer> {
  const { start, end, sort, now } = asked;
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
  const count = conditions.counting(all);
  const dialect: Dialect = {
    use: conditions.use,
    items: (json) => `json_array_elements(${json}::text::json)`,
    larger: "greatest",
    column: (field) => SESSION_COLUMNS[field],
  };
  const { head, joins, terms } = sessionOrder(dialect, sort, {
    ...asked,
    lastReadings: needsReadings(sort) ? await lastReadings(pool, null) : new Map(),
    places:
      pseudonyms &&
      (isOfNames(sort.field) ? await placesIn(pool, asked.filter, sort.field, pseudonyms, TABLES) : []),
  });
  const order = [...terms, "s.site", "s.epoch", `s.site_id ${sort.descending ? "DESC" : "ASC"}`].join(", ");
  const text = `${head} SELECT s.* FROM ${all} ${joins} ORDER BY ${order} ${conditions.page(asked)}`;
  const { rows, total } = await readPage<Row>(pool, count, text, conditions.values);
  const sessions = rows.map(sessionOf);
  const servers = new Set(sessions.map(({ session }) => session.server));
  const held = holdingsAt(await lastReadings(pool, [...servers]), asked);
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

const COLUMNS = `site, epoch, site_id, id, server, daemon, feature, user_name, host, version, count, handle, started_at, began_at,
  first_seen_at, last_seen_at`;
const TABLES = ["open_sessions", "sessions"];
const SESSION_COLUMNS: Readonly<Record<SessionField, string>> = {
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
type Withheld = "user" | "display" | "qualifier";
const SESSION_NUMBERS: readonly (keyof Omit<Session, Withheld>)[] = [
  "id",
  "count",
  "startedAt",
  "beganAt",
  "firstSeenAt",
  "lastSeenAt",
  "endedAt",
];

type Row = Readonly<Record<string, string | null>> & { readonly site: string; readonly server: string };

function sessionOf({ site, epoch: _, site_id, user_name: user = null, ...row }: Row) {
  const { id, server, daemon, feature, host, ...rest } = fromRow<Omit<Session, Withheld>>(
    row,
    SESSION_NUMBERS,
  );
  const place = { id, server: serverAt(site, server), daemon, feature };
  // Displays and qualifiers never leave a site.
  const session: Session = { ...place, user, host, display: null, qualifier: null, ...rest };
  return { site, siteId: Number(site_id), session };
}

/**
 * Returns the last good reading of each server (null = all), because polls do not update the rows of open
 * sessions.
 */
async function lastReadings(
  pool: Pool,
  servers: readonly string[] | null,
): Promise<ReadonlyMap<string, number>> {
  const conditions = createConditions();
  conditions.servers("c", servers);
  const rows: Row[] = await pool.unsafe(
    `SELECT site, server, max(read_at) AS read_at FROM coverage c WHERE ${conditions.where()} GROUP BY site, server`,
    conditions.values,
  );
  return new Map(rows.map(({ site, server, read_at }) => [serverAt(site, server), Number(read_at)]));
}

export async function denialsAnswer(
  pool: Pool,
  asked: QueryParams<HistoryAnswers, "denials">,
  pseudonyms: Pseudonyms | null,
): Promise<Answer> {
  const stored = await peopleIn(pool, asked, pseudonyms, ["denials"]);
  const people = namesFor(pseudonyms, () => stored);
  const conditions = createConditions();
  const { use, add } = conditions;
  const known = (names: readonly string[] | null) => names?.filter((name) => name !== "") ?? null;
  const wanted = people.wanted(asked);
  personConditions(conditions, { ...wanted, features: known(wanted.features), users: known(wanted.users) });
  if (asked.start !== null) add(`at >= ${use(asked.start)}`);
  if (asked.end !== null) add(`at < ${use(asked.end)}`);
  const from = `denials WHERE ${conditions.where()}`;
  const count = conditions.counting(from);
  const { sort } = asked;
  let order = denialOrder(sort);
  let head = "";
  let joins = "";
  if (pseudonyms !== null && sort !== null && isOfNames(sort.field)) {
    const places = await placesIn(pool, asked, sort.field, pseudonyms, ["denials"]);
    head = `WITH places AS MATERIALIZED (SELECT value->>0 AS name, (value->>1)::int AS place
      FROM json_array_elements(${use(JSON.stringify(places))}::text::json))`;
    joins = `LEFT JOIN places ON name = ${DENIAL_COLUMNS[sort.field] ?? sort.field}`;
    order = `place ${sqlNullsLast(sort.descending)}, at, site, server, site_id DESC`;
  } else if (pseudonyms !== null && sort?.field === "reason") {
    // These callers do not see reasons, so all rows are equal.
    order = denialOrder({ field: "timestamp", descending: false });
  }
  const text = `${head} SELECT d.* FROM (SELECT * FROM ${from}) d ${joins} ORDER BY ${order} ${conditions.page(asked)}`;
  const { rows, total } = await readPage<Row>(pool, count, text, conditions.values);
  const records = rows.map(({ user_name, ...row }) => {
    const denial = fromRow<Denial>(row, ["at", "until", "count", "attempts", "code"]);
    const user = user_name == null ? null : people.user(user_name);
    const [host, reason] = [people.host(denial.host), people.text(denial.reason)];
    return denialRecord({ ...denial, server: serverAt(row.site, row.server), user, host, reason });
  });
  return rowsAnswer("denials", DenialRecord, records, total, asked, { logging: asked.logging });
}

const DENIAL_COLUMNS: Partial<Record<DenialSort, string>> = { server: "site, server", user: "user_name" };

function denialOrder(sort: DenialQuery["sort"]): string {
  const newest = "at DESC, site, site_id DESC";
  if (sort === null) return newest;
  const way = sort.descending ? "DESC" : "ASC";
  if (sort.field === "timestamp") return `at ${way}, site, site_id ${way}`;
  const columns = (DENIAL_COLUMNS[sort.field] ?? sort.field)
    .split(", ")
    .map((column) => `${column} ${sqlNullsLast(sort.descending)}`);
  return `${columns.join(", ")}, at, site, server, daemon, feature NULLS FIRST, site_id`;
}

export async function alertsAnswer(
  pool: Pool,
  asked: QueryParams<HistoryAnswers, "alerts">,
): Promise<Answer> {
  const conditions = createConditions();
  const { use, add, oneOf } = conditions;
  const { filter, start, end, severities, acknowledged, state, rules } = asked;
  ofSites(conditions, filter);
  oneOf("daemon", filter.daemons);
  oneOf("feature", filter.features);
  oneOf("severity", severities);
  oneOf("rule", rules);
  if (end !== null) add(`started_at < ${use(end)}`);
  if (start !== null) add(`(resolved_at IS NULL OR resolved_at > ${use(start)})`);
  if (acknowledged !== null) add(`acknowledged_at IS ${acknowledged ? "NOT " : ""}NULL`);
  if (state !== null) add(`resolved_at IS ${state === "firing" ? "" : "NOT "}NULL`);
  const from = `alerts WHERE ${conditions.where()}`;
  const count = conditions.counting(from);
  const text = `SELECT * FROM ${from} ORDER BY fired_at DESC, site, site_id DESC ${conditions.page(asked)}`;
  const { rows, total } = await readPage<AlertAtHubRow>(pool, count, text, conditions.values);
  const records = rows.map((row) => {
    const shown = alertRecord(alertOf(row), asked.now);
    return { ...(asked.anonymize ? anonymousAlert(shown) : shown), ...ownerOf(row) };
  });
  return rowsAnswer("alerts", AlertRecord, records, total, asked);
}
