import type { FeatureFilter } from "../history/read.ts";

/** Which sessions; null = any. Several names are alternatives. Hosts are the same in any case. */
export interface SessionFilter {
  readonly servers: readonly string[] | null;
  readonly daemons: readonly string[] | null;
  readonly features: readonly string[] | null;
  readonly users: readonly string[] | null;
  readonly hosts: readonly string[] | null;
}

export type Named = Pick<SessionFilter, "servers" | "daemons" | "features">;

export function featureFilter({ servers, daemons, features }: Named): FeatureFilter {
  return {
    ...(servers !== null && { servers }),
    ...(daemons !== null && { daemons }),
    ...(features !== null && { features }),
  };
}

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

/** One bound list, however long: SQLite limits the number of parameters. */
function oneOf(column: string, names: readonly string[] | null): Condition | null {
  if (names === null) return null;
  return { sql: `${column} IN (SELECT value FROM json_each(?))`, values: [JSON.stringify(names)] };
}

export function sessionCondition({ servers, daemons, features, users, hosts }: SessionFilter): Condition {
  return allOf([
    oneOf("server_id", servers),
    oneOf("daemon", daemons),
    oneOf("feature", features),
    oneOf("user", users),
    oneOf("lower(host)", hosts?.map((host) => host.toLowerCase()) ?? null),
  ]);
}

/** Sessions that overlap a range, by what is stored of them: an open one has no end yet. For who reads all rows anyway. */
export function overlapCondition(start: number | null, end: number | null): Condition {
  return allOf([
    end === null ? null : { sql: "began_at < ?", values: [end] },
    start === null ? null : { sql: "ended_at IS NULL OR ended_at > ?", values: [start] },
  ]);
}

/** As in the index `sessions_long`, word for word: else it is not used. */
export const IS_LONG = "ended_at - began_at > 86400000";
export const LONG_MS = 86_400_000;

/** Some of the sessions that overlap a range. */
export interface Part extends Condition {
  /** The table, with the index where SQLite would choose another. */
  readonly from: string;
}

/**
 * Sessions that ended and overlap a range, in parts that exclude each other: each has an index of its own. What began
 * before the end and ended more than a day after it is a long one: of those, the second part, there are as many as there
 * are seats, at most, for all were held at one moment. The rest ended by then.
 */
export function closedParts(start: number, end: number | null): readonly Part[] {
  if (end === null) return [{ from: "sessions", sql: "ended_at > ?", values: [start] }];
  const soon = end + LONG_MS;
  const sql = "ended_at > ? AND ended_at <= ? AND began_at < ?";
  const long = `ended_at > ? AND began_at < ? AND ${IS_LONG}`;
  return [
    { from: "sessions", sql, values: [start, soon, end] },
    { from: "sessions INDEXED BY sessions_long", sql: long, values: [Math.max(start, soon), end] },
  ];
}

/**
 * Rows of sessions that overlap a range, by what is stored of them: an open one has no end yet. As a table in
 * parentheses with the columns asked for. Several SELECTs where there is a start, because each has an index of its own;
 * an OR of them would read every session there is. What is open at `now` says nothing of what is still to come.
 */
export function overlapping(
  columns: string,
  filter: Condition,
  start: number | null,
  end: number | null,
  now: number,
): Condition {
  const began = end === null ? null : { sql: "began_at < ?", values: [end] };
  const select = (ended: Condition | null, from = "sessions"): Condition => {
    const { sql, values } = allOf([filter, began, ended]);
    return { sql: `SELECT ${columns} FROM ${from} WHERE ${sql}`, values };
  };
  if (start === null) {
    const { sql, values } = select(null);
    return { sql: `(${sql})`, values };
  }
  const closed = closedParts(start, end).map((part) => select(part, part.from));
  const parts = start < now ? [...closed, select({ sql: "ended_at IS NULL", values: [] })] : closed;
  return {
    sql: `(${parts.map(({ sql }) => sql).join(" UNION ALL ")})`,
    values: parts.flatMap(({ values }) => values),
  };
}
