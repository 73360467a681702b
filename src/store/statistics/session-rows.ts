import type { HeldSession } from "../../domain/stats/holding.ts";
import type { HistoryRead } from "../history/read.ts";
import { allOf, type Condition, closedParts } from "./filters.ts";
import type { Range } from "./range.ts";

/** Rows in memory at once. */
const SLICE_ROWS = 10_000;

/** What the statistics need of a session. */
export const HELD_COLUMNS = `id, server_id AS server, daemon, feature, user, host, count,
  began_at AS beganAt, first_seen_at AS firstSeenAt, last_seen_at AS lastSeenAt, ended_at AS endedAt, end_reason AS endReason`;

/**
 * Visits the sessions that overlap a range, in slices, so that any number of them fits: first those that ended, in the
 * order in which they did, then the open ones.
 */
export function eachSession(
  read: Pick<HistoryRead, "all" | "checkpoint">,
  wanted: Condition,
  { start, end }: Range,
  visit: (session: HeldSession) => void,
): void {
  const began: Condition = { sql: "began_at < ?", values: [end] };
  const rowsOf = (from: string, place: Condition, order: string) => {
    const { sql, values } = allOf([wanted, began, place]);
    const rows = read.all<HeldSession & { readonly id: number }>(
      `SELECT ${HELD_COLUMNS} FROM ${from} WHERE ${sql} ${order}`,
      ...values,
    );
    for (const row of rows) visit(row);
    read.checkpoint();
    return rows;
  };
  const slice = (place: Condition, by: string) => {
    const rows = rowsOf("sessions", place, `ORDER BY ${by} LIMIT ${SLICE_ROWS}`);
    return rows.length < SLICE_ROWS ? undefined : rows.at(-1);
  };
  const [ended, ...long] = closedParts(start, end);
  let closed = ended && slice(ended, "ended_at, id");
  while (closed !== undefined) {
    const { id, endedAt } = closed;
    // From there on and not from the start: of two lower bounds SQLite may seek the wrong one, each time from the start.
    const [rest] = closedParts((endedAt ?? end) - 1, end);
    const behind = { sql: "ended_at > ? OR id > ?", values: [endedAt, id] };
    closed = rest && slice(allOf([rest, behind]), "ended_at, id");
  }
  for (const part of long) rowsOf(part.from, part, "");
  let last = slice({ sql: "ended_at IS NULL", values: [] }, "id");
  while (last !== undefined) last = slice({ sql: "ended_at IS NULL AND id > ?", values: [last.id] }, "id");
}

/** Visits the sessions that ended in [from, to), in slices. */
export function eachEnded(
  read: Pick<HistoryRead, "all" | "checkpoint">,
  from: number,
  to: number,
  visit: (session: HeldSession) => void,
): void {
  let place: Condition = { sql: "ended_at >= ?", values: [from] };
  for (;;) {
    read.checkpoint();
    const rows = read.all<HeldSession & { readonly id: number }>(
      `SELECT ${HELD_COLUMNS} FROM sessions WHERE ended_at < ? AND ${place.sql} ORDER BY ended_at, id LIMIT ${SLICE_ROWS}`,
      ...[to, ...place.values],
    );
    for (const row of rows) visit(row);
    const last = rows.at(-1);
    if (rows.length < SLICE_ROWS || last === undefined || last.endedAt === null) return;
    place = { sql: "(ended_at, id) > (?, ?)", values: [last.endedAt, last.id] };
  }
}

/** The sessions of one feature that overlap a range, by its index. */
export function sessionsOf(
  read: Pick<HistoryRead, "all">,
  { server, daemon, feature }: Pick<HeldSession, "server" | "daemon" | "feature">,
  start: number,
  end: number,
): HeldSession[] {
  const select = (ended: string) =>
    `SELECT ${HELD_COLUMNS} FROM sessions
     WHERE server_id = ?1 AND daemon = ?2 AND feature = ?3 AND ${ended} AND began_at < ?5`;
  return read.all<HeldSession>(
    `${select("ended_at > ?4")} UNION ALL ${select("ended_at IS NULL AND ?4 IS NOT NULL")}`,
    ...[server, daemon, feature, start, end],
  );
}
