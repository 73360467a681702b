import type { Denial, DenialOutcome } from "../domain/denials.ts";

/**
 * Reading denials: plain functions over any read-only connection, so that they run beside the writer or in a worker.
 * Ranges are [start, end), epoch ms; null = any.
 */
export interface Rows {
  /** Rows of a SELECT; parameters are bound. */
  all<Row>(sql: string, ...parameters: (string | number | null)[]): Row[];
}

export interface DenialFilter {
  readonly servers: readonly string[] | null;
  readonly daemons: readonly string[] | null;
  readonly features: readonly string[] | null;
  readonly users: readonly string[] | null;
  /** Whatever the case. */
  readonly hosts: readonly string[] | null;
  readonly start: number | null;
  readonly end: number | null;
}

export const DENIAL_SORTS = [
  ...(["timestamp", "server", "daemon", "feature", "user", "host", "count", "reason", "code"] as const),
  ...(["attempts", "until", "outcome"] as const),
] as const;
export type DenialSort = (typeof DENIAL_SORTS)[number];

export interface DenialQuery extends DenialFilter {
  readonly sort: { readonly field: DenialSort; readonly descending: boolean } | null;
  /** Null = all. */
  readonly limit: number | null;
  readonly offset: number;
}

export interface DenialPage {
  readonly rows: readonly Denial[];
  /** Matches before limit and offset. */
  readonly total: number;
}

/** A row of the table. */
export interface DenialRow {
  readonly server_id: string;
  readonly daemon: string;
  readonly feature: string;
  readonly user: string;
  readonly host: string | null;
  readonly at: number;
  readonly until: number;
  readonly count: number;
  readonly attempts: number;
  readonly reason: string | null;
  readonly code: number | null;
  readonly outcome: DenialOutcome;
}

/** Sorted as asked, else the newest first. */
export function denialPage(rows: Rows, query: DenialQuery): DenialPage {
  const { where, values } = conditionOf(query);
  const total = rows.all<{ total: number }>(`SELECT count(*) AS total FROM denials${where}`, ...values);
  const list = rows.all<DenialRow>(
    `SELECT * FROM denials${where} ORDER BY ${orderOf(query.sort)} LIMIT ? OFFSET ?`,
    ...values,
    query.limit ?? -1,
    query.offset,
  );
  return { rows: list.map(denialOf), total: total[0]?.total ?? 0 };
}

/** Users and hosts with a denial that the filter lets through. */
export function deniedPeople(
  rows: Rows,
  filter: DenialFilter,
): { readonly users: readonly string[]; readonly hosts: readonly string[] } {
  const { where, values } = conditionOf({ ...filter, users: null, hosts: null });
  const distinct = (column: "user" | "host") =>
    rows
      .all<{ name: string | null }>(`SELECT DISTINCT ${column} AS name FROM denials${where}`, ...values)
      .flatMap(({ name }) => (name === null || name === "" ? [] : [name]));
  return { users: distinct("user"), hosts: distinct("host") };
}

/** When the denials of each server could be seen: the last span. `to` null = now too. */
export function lastDenialSpans(
  rows: Rows,
): ReadonlyMap<string, { readonly from: number; readonly to: number | null }> {
  const list = rows.all<{ server: string; from: number; to: number | null }>(
    `SELECT server_id AS server, from_at AS "from", to_at AS "to" FROM denial_spans
     ORDER BY server_id, to_at IS NULL, to_at`,
  );
  return new Map(list.map(({ server, from, to }) => [server, { from, to }]));
}

function conditionOf({ servers, daemons, features, users, hosts, start, end }: DenialFilter) {
  const parts: string[] = [];
  const values: (string | number)[] = [];
  const among = (column: string, list: readonly string[] | null) => {
    if (list === null) return;
    parts.push(`${column} IN (SELECT value FROM json_each(?))`);
    values.push(JSON.stringify(list));
  };
  among("server_id", servers);
  among("daemon", daemons);
  among("feature", features === null ? null : features.filter((name) => name !== ""));
  among("user", users === null ? null : users.filter((name) => name !== ""));
  among("lower(host)", hosts?.map((name) => name.toLowerCase()) ?? null);
  if (start !== null) {
    parts.push("at >= ?");
    values.push(start);
  }
  if (end !== null) {
    parts.push("at < ?");
    values.push(end);
  }
  return { where: parts.length === 0 ? "" : ` WHERE ${parts.join(" AND ")}`, values };
}

const COLUMNS: Readonly<Record<DenialSort, string>> = {
  timestamp: "at",
  server: "server_id",
  daemon: "daemon",
  feature: "nullif(feature, '')",
  user: "nullif(user, '')",
  host: "host",
  count: "count",
  reason: "reason",
  code: "code",
  attempts: "attempts",
  until: "until",
  outcome: "outcome",
};

function orderOf(sort: DenialQuery["sort"]): string {
  const newest = "at DESC, id DESC";
  if (sort === null) return newest;
  const column = COLUMNS[sort.field];
  const way = sort.descending ? "DESC" : "ASC";
  if (sort.field === "timestamp") return `at ${way}, id ${way}`;
  // Not by the user: anonymized keys read this order too.
  return `${column} IS NULL, ${column} ${way}, at, server_id, daemon, feature, id`;
}

export function denialOf({ server_id: server, feature, user, ...row }: DenialRow): Denial {
  const { daemon, host, at, until, count, attempts, reason, code, outcome } = row;
  return {
    at,
    server,
    daemon,
    feature: feature === "" ? null : feature,
    user: user === "" ? null : user,

    host,
    count,
    reason,
    code,
    attempts,
    until,
    outcome,
  };
}
