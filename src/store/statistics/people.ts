import type { HistoryRead, KnownFeature } from "../history/read.ts";
import { overlapping, type SessionFilter, sessionCondition } from "./filters.ts";
import type { Range } from "./range.ts";

/**
 * Counts the sessions of a feature that overlap a range, as the list of sessions does. Of years there are many: those
 * that ended later than the start are counted in an index, and only those that ended behind the range are looked at.
 */
export function sessionCounter(
  read: Pick<HistoryRead, "all">,
  { start, end }: Range,
): (feature: KnownFeature) => number {
  const of =
    "SELECT count(*) AS sessions FROM sessions WHERE server_id = ? AND daemon = ? AND feature = ? AND ended_at > ?";
  const count = (sql: string, { server, daemon, feature }: KnownFeature, ...times: number[]) =>
    read.all<{ sessions: number }>(sql, server, daemon, feature, ...times)[0]?.sessions ?? 0;
  const later = read.all("SELECT 1 FROM sessions WHERE ended_at > ? LIMIT 1", end).length > 0;
  const open = new Map(
    read
      .all<{ server: string; daemon: string; feature: string; sessions: number }>(
        `SELECT server_id AS server, daemon, feature, count(*) AS sessions FROM sessions
         WHERE ended_at IS NULL AND began_at < ? GROUP BY server_id, daemon, feature`,
        end,
      )
      .map((row) => [keyOf(row), row.sessions]),
  );
  return (feature) =>
    count(of, feature, start) -
    (later ? count(`${of} AND began_at >= ?`, feature, end, end) : 0) +
    (open.get(keyOf(feature)) ?? 0);
}

function keyOf({ server, daemon, feature }: Pick<KnownFeature, "server" | "daemon" | "feature">): string {
  return `${server}\0${daemon}\0${feature}`;
}

/**
 * Every name in the sessions that overlap a range, its own users and hosts left aside: what an anonymized caller's
 * filter is looked up in.
 */
export function namesOf(
  read: Pick<HistoryRead, "all">,
  filter: SessionFilter,
  { start, end }: { readonly start: number | null; readonly end: number | null },
): { readonly users: readonly string[]; readonly hosts: readonly string[] } {
  const anybody = sessionCondition({ ...filter, users: null, hosts: null });
  const distinct = (column: string) => {
    const { sql, values } = overlapping(`${column} AS name`, anybody, start, end);
    return read
      .all<{ name: string | null }>(`SELECT DISTINCT name FROM ${sql}`, ...values)
      .flatMap(({ name }) => (name === null ? [] : [name]));
  };
  return { users: distinct("user"), hosts: distinct("host") };
}
