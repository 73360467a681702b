import { deleteStep } from "../store/database/delete-step.ts";
import type { Store } from "../store/open/open.ts";
import { DAY_MS, dayOf, packedKey } from "./spans.ts";

/** Later than this after the clock nothing is stored by a clock that is right. */
const AHEAD_MS = DAY_MS;

/** Takes back what a clock that was ahead left behind. */
export function createTakeBack(store: Store) {
  const { sqlite } = store;
  const deletes = (table: string, key: string, column: string) =>
    sqlite.query<null, [number, number]>(
      `DELETE FROM ${table} WHERE (${key}) IN (SELECT ${key} FROM ${table} WHERE ${column} > ?1 LIMIT ?2)`,
    );
  const byTime = [
    deletes("samples", "feature_id, at", "at"),
    deletes("coverage", "server_id, from_at", "from_at"),
    deletes("history_open", "span, at", "at"),
    deletes("denials", "id", "at"),
    deletes("sessions", "id", "ended_at > ?1 AND id > 0 AND first_seen_at"),
  ];
  const byDay = ["site_days", "session_days"].map((table) => deletes(table, "day", "day"));
  const byKey = ["sample_days", "rollup_hours", "rollup_days"].map((table) => deletes(table, "key", "key"));
  const updates = [
    `UPDATE sessions SET ended_at = ?2, last_seen_at = min(last_seen_at, ?2), end_reason = 'unobserved' WHERE id IN
       (SELECT id FROM sessions WHERE ended_at > ?1 AND id > 0 LIMIT ?3)`,
    `UPDATE sessions SET first_seen_at = min(first_seen_at, ?2), last_seen_at = min(last_seen_at, ?2),
         began_at = min(began_at, ?2) WHERE id IN
       (SELECT id FROM sessions WHERE ended_at IS NULL
          AND (first_seen_at > ?1 OR last_seen_at > ?1 OR began_at > ?1) LIMIT ?3)`,
    `UPDATE denial_spans SET from_at = min(from_at, ?2), to_at = min(to_at, ?2) WHERE id IN
       (SELECT id FROM denial_spans WHERE from_at > ?1 OR to_at > ?1 LIMIT ?3)`,
  ].map((text) => sqlite.query<null, [number, number, number]>(text));
  const oldest = "(SELECT min(ended_at) FROM sessions WHERE ended_at <= ?1)";
  const mend = sqlite.query<null, [number, boolean]>(
    `UPDATE event_marks SET value = coalesce(${oldest}, ?1)
     WHERE name = 'deleted_sessions' AND value > ?1 AND (?2 OR ${oldest} IS NOT NULL)`,
  );

  return {
    /**
     * One step, once the clock is right: history of times that are still to come goes, and what was going on then goes on
     * or ended now, as far as the store shows. Answers how many rows it changed; 0 = done.
     */
    step(now: number): number {
      const after = now + AHEAD_MS;
      return deleteStep(store, (limit) => {
        let rows = 0;
        for (const query of byTime) rows ||= query.run(after, limit).changes;
        for (const query of byDay) rows ||= query.run(dayOf(after), limit).changes;
        for (const query of byKey) rows ||= query.run(packedKey(dayOf(after) + 1, 0) - 1, limit).changes;
        for (const query of updates) rows ||= query.run(after, now, limit).changes;
        return rows;
      });
    },
    /**
     * Sessions are kept from the oldest that is stored: a mark that says a time to come is wrong. Where none is stored
     * they are kept from now on, if the clock is right.
     */
    mendMark: (now: number, isTrusted: boolean): void => void mend.run(now, isTrusted),
  };
}
