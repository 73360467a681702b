import type { Denial } from "../domain/denials.ts";

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

/** A row of the table; '' stands for a name that is not known. */
export interface DenialRow extends Omit<Denial, "server" | "feature" | "user"> {
  readonly server_id: string;
  readonly feature: string;
  readonly user: string;
}

/** Sorted as asked, else the newest first. */
export function denialPage(rows: Rows, query: DenialQuery): DenialPage {
  const { where, values } = whereOf(query);
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
  const { where, values } = whereOf({ ...filter, users: null, hosts: null });
  const distinct = (column: "user" | "host") =>
    rows
      .all<{ name: string | null }>(`SELECT DISTINCT ${column} AS name FROM denials${where}`, ...values)
      .flatMap(({ name }) => name || []);
  return { users: distinct("user"), hosts: distinct("host") };
}

function whereOf({ servers, daemons, features, users, hosts, start, end }: DenialFilter) {
  const known = (names: readonly string[] | null) => names?.filter((name) => name !== "") ?? null;
  return whereAll([
    isAmong("server_id", servers),
    isAmong("daemon", daemons),
    isAmong("feature", known(features)),
    isAmong("user", known(users)),
    isAmong("lower(host)", hosts?.map((name) => name.toLowerCase()) ?? null),
    start === null ? null : ["at >= ?", start],
    end === null ? null : ["at < ?", end],
  ]);
}

/** A condition of SQL, and the value that is bound in it. */
type Condition = readonly [sql: string, value?: string | number];

/** One bound list, however long: SQLite limits the number of parameters. Null = any. */
export function isAmong(column: string, list: readonly string[] | null): Condition | null {
  return list === null ? null : [`${column} IN (SELECT value FROM json_each(?))`, JSON.stringify(list)];
}

/** All conditions that are not null, as a WHERE clause. */
export function whereAll(conditions: readonly (Condition | null)[]) {
  const given = conditions.filter((condition) => condition !== null);
  return {
    where: given.length === 0 ? "" : ` WHERE ${given.map(([sql]) => sql).join(" AND ")}`,
    values: given.flatMap(([, value]) => value ?? []),
  };
}

/** Of the sorts that are not the name of a column with a value in each row. */
const COLUMNS: Partial<Record<DenialSort, string>> = {
  timestamp: "at",
  server: "server_id",
  feature: "nullif(feature, '')",
  user: "nullif(user, '')",
};

function orderOf(sort: DenialQuery["sort"]): string {
  const newest = "at DESC, id DESC";
  if (sort === null) return newest;
  const column = COLUMNS[sort.field] ?? sort.field;
  const way = sort.descending ? "DESC" : "ASC";
  if (sort.field === "timestamp") return `at ${way}, id ${way}`;
  // Not by the user: anonymized keys read this order too.
  return `${column} IS NULL, ${column} ${way}, at, server_id, daemon, feature, id`;
}

export function denialOf({ server_id: server, feature, user, ...row }: DenialRow): Denial {
  const { at, daemon, host, count, reason, code, attempts, until, outcome } = row;
  const names = { server, daemon, feature: feature || null, user: user || null, host };
  return { at, ...names, count, reason, code, attempts, until, outcome };
}
