import type { SessionRecord } from "../../domain/history-records.ts";
import { type SortBy, sqlNullsLast } from "../../domain/order.ts";
import { START_RESOLUTION_MS } from "../../domain/session.ts";
import { type Asked, DEFAULT_INTERVAL_MS } from "../../domain/stats/held-seats.ts";

export type SessionOrder = Exclude<keyof SessionRecord, "site" | "siteId">;

export type SessionSort = SortBy<SessionOrder>;

export type SessionField = Exclude<SessionOrder, "durationSeconds"> | "beganAt";

export interface Dialect {
  use(value: string | number): string;
  /** Returns SQL of a table whose column `value` has the elements of a bound JSON array. */
  items(json: string): string;
  readonly larger: string;
  /** Returns the column of a field; `server` is the id shown in records. */
  column(field: SessionField): string;
}

export interface Known extends Asked {
  readonly lastReadings: ReadonlyMap<string, number>;
  /**
   * For callers who see no names: the rank of each user or host in the order of pseudonyms. Null for other
   * callers.
   */
  readonly places: readonly NamePlace[] | null;
}

type NamePlace = readonly [name: string, place: number];

/**
 * Parts of the query `<head> SELECT s.* FROM <sessions> s <joins> ORDER BY <terms>`. The caller adds a term
 * that breaks ties.
 */
export interface OrderParts {
  readonly head: string;
  readonly joins: string;
  readonly terms: readonly string[];
}

/**
 * Reports whether the order depends on when servers were last read, because polls do not update the row of
 * an open session.
 */
export const needsReadings = ({ field }: SessionSort): boolean =>
  field === "lastSeenAt" || field === "durationSeconds";

export const isOfNames = (field: string): field is "user" | "host" => field === "user" || field === "host";

const NULLABLE: readonly SessionOrder[] = [
  ...(["user", "host", "display", "version", "handle"] as const),
  ...(["startedAt", "endedAt", "endReason"] as const),
];

/**
 * Returns SQL that sorts by the field as records show it. The values of `head` are bound in the order of
 * the text.
 */
export function sessionOrder(sql: Dialect, sort: SessionSort, known: Known): OrderParts {
  const { field, descending } = sort;
  const { column, larger } = sql;
  const direction = descending ? "DESC" : "ASC";
  // For non-null columns, leave out NULLS LAST, so that SQLite can sort by an index.
  const way = NULLABLE.includes(field) ? sqlNullsLast(descending) : direction;
  const plain = (...terms: readonly string[]): OrderParts => ({
    head: "",
    joins: "",
    terms: terms.map((term) => `${term} ${way}`),
  });
  if (known.places !== null) {
    if (isOfNames(field))
      return {
        head: `WITH places(name, place) AS MATERIALIZED
          (SELECT CAST(value->>0 AS text), CAST(value->>1 AS bigint) FROM ${sql.items(sql.use(JSON.stringify(known.places)))})`,
        joins: `LEFT JOIN places ON name = ${column(field)}`,
        terms: [`place ${way}`],
      };
    // These callers do not see displays, so all rows are equal.
    if (field === "display") return plain();
    // Imported sessions (negative ids) count as equal, because their ids depend on the user.
    if (field === "id") return plain(`${larger}(${column("id")}, 0)`, column("firstSeenAt"));
  }
  if (!needsReadings(sort)) return plain(column(field as SessionField));
  const { lastReadings, intervals, now } = known;
  const servers = [...new Set([...lastReadings.keys(), ...Object.keys(intervals)])];
  const polls = servers.map((id) => [id, intervals[id] ?? null, lastReadings.get(id) ?? null]);
  return {
    head: `WITH polls(of_server, interval_ms, read_at) AS MATERIALIZED
      (SELECT CAST(value->>0 AS text), CAST(value->>1 AS bigint), CAST(value->>2 AS bigint) FROM ${sql.items(sql.use(JSON.stringify(polls)))}),
      asked(now) AS (SELECT CAST(${sql.use(now)} AS bigint))`,
    joins: `CROSS JOIN asked LEFT JOIN polls ON of_server = ${column("server")}`,
    terms: [`${field === "lastSeenAt" ? seenIn(sql) : durationIn(sql)} ${way}`],
  };
}

function seenIn({ column, larger }: Dialect): string {
  const seen = column("lastSeenAt");
  return `CASE WHEN ${column("endedAt")} IS NULL THEN ${larger}(${seen}, coalesce(read_at, 0)) ELSE ${seen} END`;
}

/**
 * Returns SQL for a record's `durationSeconds`. Must give the same result as `holdingOf` and `shownBegin`.
 */
function durationIn(sql: Dialect): string {
  const [startedAt, beganAt, firstSeenAt] = [
    sql.column("startedAt"),
    sql.column("beganAt"),
    sql.column("firstSeenAt"),
  ];
  const interval = `coalesce(interval_ms, ${DEFAULT_INTERVAL_MS})`;
  const seen = seenIn(sql);
  const end = `coalesce(${sql.column("endedAt")}, now)`;
  const to = `CASE WHEN ${sql.column("endReason")} = 'checkin' OR ${end} - ${seen} <= 2 * ${interval} THEN ${end} ELSE ${seen} + ${interval} END`;
  const begin = `CASE WHEN ${startedAt} <= ${firstSeenAt} AND ${beganAt} - ${startedAt} <= 2 * ${interval} + ${START_RESOLUTION_MS}
    THEN ${startedAt} ELSE ${beganAt} END`;
  return `(${sql.larger}(${firstSeenAt}, ${to}) - ${begin}) / 1000`;
}

/** Returns the rank of each name in the order of displayed names; names displayed alike share a rank. */
export function placesOf(names: readonly string[], shown: (name: string) => string): NamePlace[] {
  const places = new Map([...new Set(names.map(shown))].sort().map((alias, place) => [alias, place]));
  return names.map((name) => [name, places.get(shown(name)) ?? 0]);
}
