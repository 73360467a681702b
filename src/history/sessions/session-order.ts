import type { SessionRecord } from "../../domain/history-records.ts";
import { START_RESOLUTION_MS } from "../../domain/session.ts";
import { type Asked, DEFAULT_INTERVAL_MS } from "../../domain/stats/held-seats.ts";

/** What sessions can be sorted by: every field of their records. */
export type SessionOrder = Exclude<keyof SessionRecord, "site" | "siteId">;

export interface SessionSort {
  readonly field: SessionOrder;
  readonly descending: boolean;
}

/** What SQLite and PostgreSQL say differently. */
export interface Dialect {
  /** Binds a value and answers its name in the statement. */
  use(value: string | number): string;
  /** The items of a bound array in JSON, as a table with the column `value`. */
  items(json: string): string;
  /** The function that answers the larger of two numbers. */
  readonly larger: string;
  /** The columns of sessions; `server` is the id that records show. */
  readonly columns: Readonly<Record<Exclude<SessionOrder, "durationSeconds"> | "beganAt", string>>;
}

/** What the order of sessions depends on beside their rows. */
export interface Known extends Asked {
  /** The last reading of each server, epoch ms. */
  readonly lastReadings: ReadonlyMap<string, number>;
  /**
   * For callers that see no names: the place of each user or host, whichever the field is, in the order of pseudonyms. Null
   * for other callers.
   */
  readonly places: readonly NamePlace[] | null;
}

type NamePlace = readonly [name: string, place: number];

/** The parts of `<head> SELECT s.* FROM <sessions> s <joins> ORDER BY <terms>`, with ties for the caller to break. */
export interface OrderParts {
  readonly head: string;
  readonly joins: string;
  readonly terms: readonly string[];
}

/** Whether the order depends on when servers were read: an open session's row does not follow each poll. */
export const needsReadings = ({ field }: SessionSort): boolean =>
  field === "lastSeenAt" || field === "durationSeconds";

/** Whether the order is one of names, which some callers may not learn. */
export const isOfNames = (field: string): field is "user" | "host" => field === "user" || field === "host";

const NULLABLE: readonly SessionOrder[] = [
  ...(["user", "host", "display", "version", "handle"] as const),
  ...(["startedAt", "endedAt", "endReason"] as const),
];

/** An order as the records show the field. Binds what `head` names, in the order of the text. */
export function sessionOrder(sql: Dialect, sort: SessionSort, known: Known): OrderParts {
  const { field, descending } = sort;
  const { columns, larger } = sql;
  const direction = descending ? "DESC" : "ASC";
  // What is never null is sorted by its index where nothing is said of nulls.
  const way = NULLABLE.includes(field) ? `${direction} NULLS LAST` : direction;
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
        joins: `LEFT JOIN places ON name = ${columns[field]}`,
        terms: [`place ${way}`],
      };
    // It is hidden from them: all are alike.
    if (field === "display") return plain();
    // The number of an imported session tells of its user.
    if (field === "id") return plain(`${larger}(${columns.id}, 0)`, columns.firstSeenAt);
  }
  if (!needsReadings(sort)) return plain(columns[field as keyof Dialect["columns"]]);
  const { lastReadings, intervals, now } = known;
  const servers = [...new Set([...lastReadings.keys(), ...Object.keys(intervals)])];
  const polls = servers.map((id) => [id, intervals[id] ?? null, lastReadings.get(id) ?? null]);
  return {
    head: `WITH polls(of_server, interval_ms, read_at) AS MATERIALIZED
      (SELECT CAST(value->>0 AS text), CAST(value->>1 AS bigint), CAST(value->>2 AS bigint) FROM ${sql.items(sql.use(JSON.stringify(polls)))}),
      asked(now) AS (SELECT CAST(${sql.use(now)} AS bigint))`,
    joins: `CROSS JOIN asked LEFT JOIN polls ON of_server = ${columns.server}`,
    terms: [`${field === "lastSeenAt" ? seenIn(sql) : durationIn(sql)} ${way}`],
  };
}

/** `lastSeenAt` of the record. */
const seenIn = ({ columns, larger }: Dialect): string =>
  `CASE WHEN ${columns.endedAt} IS NULL THEN ${larger}(${columns.lastSeenAt}, coalesce(read_at, 0)) ELSE ${columns.lastSeenAt} END`;

/** `durationSeconds` of the record: as `holdingOf` and `shownBegin` of the domain have it, so that no session has to be read. */
function durationIn(sql: Dialect): string {
  const { startedAt, beganAt, firstSeenAt, endedAt, endReason } = sql.columns;
  const interval = `coalesce(interval_ms, ${DEFAULT_INTERVAL_MS})`;
  const seen = seenIn(sql);
  const end = `coalesce(${endedAt}, now)`;
  const to = `CASE WHEN ${endReason} = 'checkin' OR ${end} - ${seen} <= 2 * ${interval} THEN ${end} ELSE ${seen} + ${interval} END`;
  const begin = `CASE WHEN ${startedAt} <= ${firstSeenAt} AND ${beganAt} - ${startedAt} <= 2 * ${interval} + ${START_RESOLUTION_MS}
    THEN ${startedAt} ELSE ${beganAt} END`;
  return `(${sql.larger}(${firstSeenAt}, ${to}) - ${begin}) / 1000`;
}

/** The places of names in the order of what is shown for them; names that are shown alike share one. */
export function placesOf(names: readonly string[], shown: (name: string) => string): NamePlace[] {
  const places = new Map([...new Set(names.map(shown))].sort().map((alias, place) => [alias, place]));
  return names.map((name) => [name, places.get(shown(name)) ?? 0]);
}
