import type { FeatureId } from "../domain/history.ts";

/** Which sessions; null = any. Several names are alternatives. Hosts are the same in any case. */
export interface SessionFilter {
  readonly servers: readonly string[] | null;
  readonly daemons: readonly string[] | null;
  readonly features: readonly string[] | null;
  readonly users: readonly string[] | null;
  readonly hosts: readonly string[] | null;
}

/** Which features; null = any. */
export type Named = Pick<SessionFilter, "servers" | "daemons" | "features">;

/** A condition of SQL with what is bound in it. */
export interface Condition {
  readonly sql: string;
  readonly values: readonly (string | number | null)[];
}

export function allOf(conditions: readonly (Condition | null)[]): Condition {
  const given = conditions.filter((condition) => condition !== null);
  return {
    sql: given.length === 0 ? "TRUE" : given.map(({ sql }) => `(${sql})`).join(" AND "),
    values: given.flatMap(({ values }) => values),
  };
}

/** One bound list, however long: SQLite limits the number of parameters. Null = any name. */
export function oneOf(column: string, names: readonly string[] | null | undefined): Condition | null {
  if (names == null) return null;
  return { sql: `${column} IN (SELECT value FROM json_each(?))`, values: [JSON.stringify(names)] };
}

export function noneOf(column: string, names: readonly string[]): Condition {
  return { sql: `${column} NOT IN (SELECT value FROM json_each(?))`, values: [JSON.stringify(names)] };
}

/** A comparison with an instant; null = at any time. */
export function compared(comparison: string, at: number | null): Condition | null {
  return at === null ? null : { sql: `${comparison} ?`, values: [at] };
}

export function sessionCondition({ servers, daemons, features, users, hosts }: SessionFilter): Condition {
  return allOf([
    oneOf("server_id", servers),
    oneOf("daemon", daemons),
    oneOf("feature", features),
    oneOf("user", users),
    oneOf(
      "lower(host)",
      hosts?.map((host) => host.toLowerCase()),
    ),
  ]);
}

export function ofFeature({ server, daemon, feature }: FeatureId): Condition {
  return { sql: "server_id = ? AND daemon = ? AND feature = ?", values: [server, daemon, feature] };
}

/** As in the index `sessions_long`, word for word: else it is not used. */
export const IS_LONG = "ended_at - began_at > 86400000";
export const LONG_MS = 86_400_000;

/**
 * Rows of sessions that overlap a range, by what is stored of them: an open one has no end yet. As a table in
 * parentheses with the columns asked for. Several SELECTs that exclude each other where there is a start, because each
 * has an index of its own; an OR of them would read every session there is. What began before the end and ended more than
 * a day after it is a long one, and there are as many of these as there are seats, at most, for all were held at one
 * moment; the rest ended by then. What is open at `now` says nothing of what is still to come.
 */
export function overlapping(
  columns: string,
  filter: Condition,
  start: number | null,
  end: number | null,
  now: number,
): Condition {
  const parts: Condition[] = [];
  const select = (sql: string, values: readonly number[], from = "sessions") => {
    const where = allOf([filter, compared("began_at <", end), { sql, values }]);
    parts.push({ sql: `SELECT ${columns} FROM ${from} WHERE ${where.sql}`, values: where.values });
  };
  if (start === null) select("TRUE", []);
  else if (end === null) select("ended_at > ?", [start]);
  else {
    const soon = end + LONG_MS;
    select("ended_at > ? AND ended_at <= ?", [start, soon]);
    select(`ended_at > ? AND ${IS_LONG}`, [Math.max(start, soon)], "sessions INDEXED BY sessions_long");
  }
  if (start !== null && start < now) select("ended_at IS NULL", []);
  return {
    sql: `(${parts.map(({ sql }) => sql).join(" UNION ALL ")})`,
    values: parts.flatMap(({ values }) => values),
  };
}
