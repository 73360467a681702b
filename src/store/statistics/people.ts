import type { FeatureId } from "../../domain/history.ts";
import type { HistoryRead } from "../history/read.ts";
import { IS_LONG, LONG_MS, overlapping, type SessionFilter, sessionCondition } from "./filters.ts";
import type { Range } from "./range.ts";

/**
 * Counts the sessions of a feature that overlap a range, as the list of sessions does. Of years there are many: those
 * that ended in the range are counted in an index, of those that ended later only the next day's are looked at, and the
 * few long ones.
 */
export function sessionCounter(
  read: Pick<HistoryRead, "all" | "now">,
  { start, end }: Range,
): (feature: FeatureId) => number {
  const from = (index: string) =>
    `SELECT count(*) FROM sessions INDEXED BY ${index} WHERE server_id = ?1 AND daemon = ?2 AND feature = ?3`;
  const ended = `(${from("sessions_by_feature")} AND ended_at > ?4 AND ended_at < ?5)`;
  // Who was seen before the end began before it: that stands in the index.
  const endedSoon = `(${from("sessions_by_feature")} AND ended_at >= max(?5, ?4 + 1) AND ended_at <= ?6
    AND (first_seen_at < ?5 OR began_at < ?5))`;
  const endedLate = `(${from("sessions_long")} AND ended_at > ?6 AND began_at < ?5 AND ${IS_LONG})`;
  const later = read.all("SELECT 1 FROM sessions WHERE ended_at >= ? LIMIT 1", end).length > 0;
  const select = `SELECT ${later ? `${ended} + ${endedSoon} + ${endedLate}` : `${ended} + 0 * ?6`} AS sessions`;
  // What is open now says nothing of what is still to come.
  const running =
    start < read.now
      ? read.all<{ server: string; daemon: string; feature: string; sessions: number }>(
          `SELECT server_id AS server, daemon, feature, count(*) AS sessions FROM sessions
           WHERE ended_at IS NULL AND began_at < ? GROUP BY server_id, daemon, feature`,
          end,
        )
      : [];
  const open = new Map(running.map((row) => [keyOf(row), row.sessions]));
  return (feature) => {
    const values = [feature.server, feature.daemon, feature.feature, start, end, end + LONG_MS];
    const closed = read.all<{ sessions: number }>(select, ...values)[0]?.sessions ?? 0;
    return closed + (open.get(keyOf(feature)) ?? 0);
  };
}

function keyOf({ server, daemon, feature }: FeatureId): string {
  return `${server}\0${daemon}\0${feature}`;
}

/**
 * Every name in the sessions that overlap a range, its own users and hosts left aside: what an anonymized caller's
 * filter is looked up in.
 */
export function namesOf(
  read: Pick<HistoryRead, "all" | "now">,
  filter: SessionFilter,
  { start, end }: { readonly start: number | null; readonly end: number | null },
): { readonly users: readonly string[]; readonly hosts: readonly string[] } {
  const anybody = sessionCondition({ ...filter, users: null, hosts: null });
  const distinct = (column: string) => {
    const { sql, values } = overlapping(`${column} AS name`, anybody, start, end, read.now);
    return read
      .all<{ name: string | null }>(`SELECT DISTINCT name FROM ${sql}`, ...values)
      .flatMap(({ name }) => (name === null ? [] : [name]));
  };
  return { users: distinct("user"), hosts: distinct("host") };
}
