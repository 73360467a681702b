import type { HeldSession } from "../../domain/stats/holding.ts";
import type { HistoryRead } from "../history/read.ts";
import { allOf, type Condition } from "./filters.ts";
import type { Range } from "./range.ts";

/** Rows in memory at once. */
const SLICE_ROWS = 10_000;

const COLUMNS = `id, server_id AS server, daemon, feature, user, host, count,
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
  const slice = (place: Condition, order: string): (HeldSession & { readonly id: number }) | undefined => {
    const { sql, values } = allOf([wanted, began, place]);
    const rows = read.all<HeldSession & { readonly id: number }>(
      `SELECT ${COLUMNS} FROM sessions WHERE ${sql} ORDER BY ${order} LIMIT ${SLICE_ROWS}`,
      ...values,
    );
    for (const row of rows) visit(row);
    read.checkpoint();
    return rows.length < SLICE_ROWS ? undefined : rows.at(-1);
  };
  let last = slice({ sql: "ended_at > ?", values: [start] }, "ended_at, id");
  while (last !== undefined) {
    const { id, endedAt } = last;
    last = slice(
      { sql: "ended_at >= ? AND (ended_at > ? OR id > ?)", values: [endedAt, endedAt, id] },
      "ended_at, id",
    );
  }
  last = slice({ sql: "ended_at IS NULL", values: [] }, "id");
  while (last !== undefined) last = slice({ sql: "ended_at IS NULL AND id > ?", values: [last.id] }, "id");
}

/** The sessions of one feature that overlap a range, by its index. */
export function sessionsOf(
  read: Pick<HistoryRead, "all">,
  { server, daemon, feature }: Pick<HeldSession, "server" | "daemon" | "feature">,
  start: number,
  end: number,
): HeldSession[] {
  const select = (ended: string) =>
    `SELECT ${COLUMNS} FROM sessions
     WHERE server_id = ?1 AND daemon = ?2 AND feature = ?3 AND ${ended} AND began_at < ?5`;
  return read.all<HeldSession>(
    `${select("ended_at > ?4")} UNION ALL ${select("ended_at IS NULL AND ?4 IS NOT NULL")}`,
    ...[server, daemon, feature, start, end],
  );
}
