import type { HeldSession } from "../../domain/stats/holding.ts";
import type { HistoryRead } from "../history/read.ts";
import { allOf, type Condition } from "./filters.ts";

/** Rows in memory at once. */
const SLICE_ROWS = 10_000;

const COLUMNS = `id, server_id AS server, daemon, feature, user, host, count,
  began_at AS beganAt, first_seen_at AS firstSeenAt, last_seen_at AS lastSeenAt, ended_at AS endedAt, end_reason AS endReason`;

/** Visits sessions in the order of their ids, in slices, so that any number of them fits. */
export function eachSession(
  read: Pick<HistoryRead, "all" | "checkpoint">,
  wanted: Condition,
  visit: (session: HeldSession) => void,
): void {
  for (let after = -1; ; ) {
    const { sql, values } = allOf([{ sql: "id > ?", values: [after] }, wanted]);
    const rows = read.all<HeldSession & { readonly id: number }>(
      `SELECT ${COLUMNS} FROM sessions WHERE ${sql} ORDER BY id LIMIT ${SLICE_ROWS}`,
      ...values,
    );
    for (const row of rows) visit(row);
    const last = rows.at(-1);
    if (last === undefined || rows.length < SLICE_ROWS) return;
    after = last.id;
    read.checkpoint();
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
    `SELECT ${COLUMNS} FROM sessions
     WHERE server_id = ?1 AND daemon = ?2 AND feature = ?3 AND ${ended} AND began_at < ?5`;
  return read.all<HeldSession>(
    `${select("ended_at > ?4")} UNION ALL ${select("ended_at IS NULL AND ?4 IS NOT NULL")}`,
    ...[server, daemon, feature, start, end],
  );
}
