import type { Pool } from "../database/connect.ts";

const LINES_A_STEP = 2_000;

/**
 * Deletes lines before a time (epoch ms; null = now) except audit lines, in small steps. Returns their
 * number.
 */
export async function clearLogs(pool: Pool, before: number | null, now: number): Promise<number> {
  let cleared = 0;
  for (;;) {
    const rows = await pool`
      DELETE FROM events WHERE id IN (
        SELECT id FROM events WHERE type = 'log' AND source <> 'audit' AND at < ${before ?? now} ORDER BY id LIMIT ${LINES_A_STEP})
      RETURNING 1`;
    cleared += rows.length;
    if (rows.length < LINES_A_STEP) return cleared;
  }
}
