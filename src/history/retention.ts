import { DAY_MS } from "../domain/time/clock.ts";
import { createAlerts } from "../store/alerts.ts";
import type { ClockWatch } from "../store/clock-watch.ts";
import { deleteStep } from "../store/database/transaction.ts";
import { createDenials } from "../store/denials.ts";
import { createEventRetention, createLogs } from "../store/logs.ts";
import type { Store } from "../store/open/open.ts";
import { dayOf, PACKED_KINDS, packedKeys } from "./buckets.ts";
import type { HistoryDeps } from "./history.ts";
import { createLoop, type Loop } from "./loop.ts";
import { createStatusRetention } from "./outages.ts";
import { createSessions } from "./sessions/sessions.ts";

interface Keep {
  readonly samplesMs: number;
  readonly rollupsMs: number;
  readonly sessionsMs: number;
  readonly outagesMs: number;
  readonly eventsMs: number;
  readonly logsMs: number;
  readonly logBytes: number;
  readonly auditMs: number;
}

interface RetentionDeps extends Omit<HistoryDeps, "clock"> {
  readonly watch: Pick<ClockWatch, "look" | "save">;
  readonly keep: () => Keep;
}

const ROUND_MS = 60_000;
const STEP_ROWS = 500;

export function createRetention({ store, watch, timers, log, keep }: RetentionDeps): Loop {
  const logs = createLogs(store);
  const events = createEventRetention(store, STEP_ROWS);
  const sessions = createSessions(store);
  const denials = createDenials(store);
  const alerts = createAlerts(store);
  const history = createHistoryRetention(store);
  const statuses = createStatusRetention(store);
  const takeBack = createTakeBack(store);
  let takenBackAfter = -1;

  const step = (): number => {
    const { now: clock, retentionNow: now, isTrusted, doubts } = watch.look();
    if (isTrusted && takenBackAfter !== doubts) {
      const rows = takeBack.step(clock);
      if (rows > 0) return rows;
      takenBackAfter = doubts;
    }
    takeBack.mendMark(clock, isTrusted);
    const { samplesMs, rollupsMs, sessionsMs, outagesMs, eventsMs, logsMs, logBytes, auditMs } = keep();
    return (
      logs.retainStep({ now, logsBefore: now - logsMs, auditBefore: now - auditMs, maxBytes: logBytes }) ||
      events(now - eventsMs, now) ||
      sessions.retainStep(now - sessionsMs) ||
      denials.retainStep(now - sessionsMs) ||
      alerts.retainStep(now - sessionsMs) ||
      history(now - samplesMs, now - rollupsMs) ||
      statuses(now - outagesMs) ||
      logs.indexStep()
    );
  };
  // Do not stop when the disk is full, because the next round retries, and deleting makes room.
  return createLoop(
    () => {
      const isMore = step() > 0;
      watch.save();
      return isMore;
    },
    ROUND_MS,
    "Cannot delete old entries",
    timers,
    log,
  );
}

const PACKED_BETWEEN =
  "DELETE FROM packed_days WHERE key IN (SELECT key FROM packed_days WHERE key >= ? AND key < ? ORDER BY key LIMIT ?)";

/** Deletes one step of old samples and rollups, by whole days, and returns the number of rows. */
export function createHistoryRetention(store: Store): (samplesFrom: number, rollupsFrom: number) => number {
  const { sqlite } = store;
  const packed = sqlite.query<null, [number, number, number]>(PACKED_BETWEEN);
  const marks = sqlite.query<null, [number]>("DELETE FROM dirty WHERE kind = 'site' AND at < ?");
  const servers = sqlite.query<{ id: string }, []>("SELECT id FROM servers");
  const coverage = sqlite.query<null, [string, number, number]>(
    `DELETE FROM coverage WHERE server_id = ?1 AND from_at IN
       (SELECT from_at FROM coverage WHERE server_id = ?1 AND from_at < ?2 AND until_at <= ?2 ORDER BY from_at LIMIT ?3)`,
  );

  return (samplesFrom, rollupsFrom) => {
    const [samplesDay, rollupsDay] = [dayOf(samplesFrom), dayOf(rollupsFrom)];
    return deleteStep(store, (limit) => {
      let rows = marks.run(samplesDay * DAY_MS).changes;
      for (const kind of ["samples", "site", "hours", "rollups"] as const) {
        const behind = kind === "samples" || kind === "site" ? samplesDay : rollupsDay;
        rows ||= packed.run(...packedKeys(kind, 0, behind), limit).changes;
      }
      if (rows > 0) return rows;
      for (const { id } of servers.all()) {
        if (rows >= limit) break;
        rows += coverage.run(id, samplesDay * DAY_MS, limit).changes;
      }
      return rows;
    });
  };
}

/** Maximum distance of stored times ahead of a correct clock. */
const AHEAD_MS = DAY_MS;

export function createTakeBack(store: Store) {
  const { sqlite } = store;
  const deletes = (table: string, key: string, column: string) =>
    sqlite.query<null, [number, number]>(
      `DELETE FROM ${table} WHERE (${key}) IN (SELECT ${key} FROM ${table} WHERE ${column} > ?1 LIMIT ?2)`,
    );
  const byTime = [
    deletes("samples", "feature_id, at", "at"),
    deletes("coverage", "server_id, from_at", "from_at"),
    deletes("server_statuses", "server_id, from_at", "from_at"),
    deletes("dirty", "kind, at", "kind NOT IN ('hub', 'hub_rows') AND at"),
    deletes("denials", "id", "at"),
    deletes("sessions", "id", "ended_at > ?1 AND id > 0 AND first_seen_at"),
  ];
  const right = (column: string) => `iif(${column} > ?1, ${column} - doubt_ms, ${column})`;
  const repair = sqlite.query<null, [number, number]>(
    `UPDATE sessions SET began_at = ${right("began_at")}, first_seen_at = ${right("first_seen_at")},
       last_seen_at = max(${right("first_seen_at")}, ${right("last_seen_at")}),
       ended_at = max(${right("first_seen_at")}, ${right("ended_at")}), doubt_ms = NULL
     WHERE id IN (SELECT id FROM sessions WHERE doubt_ms IS NOT NULL LIMIT ?2)`,
  );
  const packed = sqlite.query<null, [number, number, number]>(PACKED_BETWEEN);
  const updates = [
    `UPDATE sessions SET ended_at = max(first_seen_at, ?2), last_seen_at = max(first_seen_at, min(last_seen_at, ?2)),
         end_reason = 'unobserved' WHERE id IN
       (SELECT id FROM sessions WHERE ended_at > ?1 AND id > 0 LIMIT ?3)`,
    `UPDATE sessions SET first_seen_at = min(first_seen_at, ?2), last_seen_at = min(last_seen_at, ?2),
         began_at = min(began_at, ?2) WHERE id IN
       (SELECT id FROM sessions WHERE ended_at IS NULL
          AND (first_seen_at > ?1 OR last_seen_at > ?1 OR began_at > ?1) LIMIT ?3)`,
    `UPDATE denial_spans SET from_at = min(from_at, ?2), to_at = min(to_at, ?2) WHERE id IN
       (SELECT id FROM denial_spans WHERE from_at > ?1 OR to_at > ?1 LIMIT ?3)`,
    `UPDATE server_statuses SET read_at = ?2, until_at = min(until_at, ?2), next_by = min(next_by, ?2)
       WHERE (server_id, from_at) IN (SELECT server_id, from_at FROM server_statuses WHERE read_at > ?1 LIMIT ?3)`,
  ].map((text) => sqlite.query<null, [number, number, number]>(text));
  const oldest = "(SELECT min(ended_at) FROM sessions WHERE ended_at <= ?1)";
  const mend = sqlite.query<null, [number, boolean]>(
    `UPDATE event_marks SET value = coalesce(${oldest}, ?1)
     WHERE name = 'deleted_sessions' AND value > ?1 AND (?2 OR ${oldest} IS NOT NULL)`,
  );

  return {
    /**
     * Takes one step; called once the clock is right. Sessions that a doubted clock dated to the future get
     * correct times. Other history in the future is deleted, and rows that reach into the future are cut.
     * Returns the number of changed rows; 0 means done.
     */
    step(now: number): number {
      const after = now + AHEAD_MS;
      return deleteStep(store, (limit) => {
        let rows = repair.run(after, limit).changes;
        for (const query of byTime) rows ||= query.run(after, limit).changes;
        for (const kind of PACKED_KINDS)
          rows ||= packed.run(...packedKeys(kind, dayOf(after) + 1), limit).changes;
        for (const query of updates) rows ||= query.run(after, now, limit).changes;
        return rows;
      });
    },
    /**
     * Corrects the mark from which sessions are kept if it is in the future. It becomes the time of the
     * oldest stored session; without sessions it becomes the current time if the clock is trusted.
     */
    mendMark: (now: number, isTrusted: boolean): void => void mend.run(now, isTrusted),
  };
}
