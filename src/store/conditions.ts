/**
 * Any read-only connection, next to the writer or in a worker. The functions below build SQL conditions for
 * such connections.
 */
export interface Rows {
  all<Row>(sql: string, ...parameters: (string | number | null)[]): Row[];
}

/**
 * Filter of sessions or denials. In each field, null matches everything, and a list matches any of its
 * names. Names of hosts ignore case.
 */
export interface SessionFilter {
  readonly sites?: readonly string[];
  readonly servers: readonly string[] | null;
  readonly daemons: readonly string[] | null;
  readonly features: readonly string[] | null;
  readonly users: readonly string[] | null;
  readonly hosts: readonly string[] | null;
}

export type Named = Pick<SessionFilter, "sites" | "servers" | "daemons" | "features">;

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

/**
 * Matches any of the names; null matches every name. Binds the list as one parameter, because SQLite limits
 * the number of parameters.
 */
export function oneOf(column: string, names: readonly string[] | null | undefined): Condition | null {
  if (names == null) return null;
  return { sql: `${column} IN (SELECT value FROM json_each(?))`, values: [JSON.stringify(names)] };
}

export function noneOf(column: string, names: readonly string[]): Condition {
  return { sql: `${column} NOT IN (SELECT value FROM json_each(?))`, values: [JSON.stringify(names)] };
}

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

export function peopleIn(rows: Rows, from: string, values: Condition["values"]) {
  const distinct = (column: "user" | "host") =>
    rows
      .all<{ name: string | null }>(`SELECT DISTINCT ${column} AS name FROM ${from}`, ...values)
      .flatMap(({ name }) => name || []);
  return { users: distinct("user"), hosts: distinct("host") };
}
