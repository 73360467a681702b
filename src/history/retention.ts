import type { Log } from "../domain/log.ts";
import type { Timers } from "../domain/time/timers.ts";
import { createAlerts } from "../store/alerts.ts";
import type { ClockWatch } from "../store/clock-watch.ts";
import { deleteStep } from "../store/database/delete-step.ts";
import { createDenials } from "../store/denials.ts";
import { createEventRetention } from "../store/event-retention.ts";
import { createLogs } from "../store/logs.ts";
import type { Store } from "../store/open/open.ts";
import { createLoop, type Loop } from "./loop.ts";
import { createSessions } from "./sessions/sessions.ts";
import { DAY_MS, dayOf, packedKey } from "./spans.ts";
import { createTakeBack } from "./take-back.ts";

/** How long stored things are kept. */
interface Keep {
  readonly samplesMs: number;
  readonly rollupsMs: number;
  readonly sessionsMs: number;
  readonly eventsMs: number;
  readonly logsMs: number;
  readonly logBytes: number;
  readonly auditMs: number;
}

export interface RetentionDeps {
  readonly store: Store;
  readonly watch: Pick<ClockWatch, "look" | "save">;
  readonly timers: Timers;
  readonly log: Log;
  /** Asked before every round, so that a reload holds from the next one on. */
  readonly keep: () => Keep;
}

const ROUND_MS = 60_000;
const STEP_ROWS = 500;

/** Deletes what is older, or more, than it may be: in small steps that hold up nothing else. */
export function createRetention({ store, watch, timers, log, keep }: RetentionDeps): Loop {
  const logs = createLogs(store);
  const events = createEventRetention(store, STEP_ROWS);
  const sessions = createSessions(store);
  const denials = createDenials(store);
  const alerts = createAlerts(store);
  const history = createHistoryRetention(store);
  const takeBack = createTakeBack(store);
  /** Nothing is left of a clock that was ahead. */
  let isTakenBack = false;

  const step = (): number => {
    const { now: clock, retentionNow: now, isTrusted } = watch.look();
    if (!isTrusted) isTakenBack = false;
    else if (!isTakenBack) {
      const rows = takeBack.step(clock);
      if (rows > 0) return rows;
      isTakenBack = true;
    }
    takeBack.mendMark(clock, isTrusted);
    const { samplesMs, rollupsMs, sessionsMs, eventsMs, logsMs, logBytes, auditMs } = keep();
    return (
      logs.retainStep({ now, logsBefore: now - logsMs, auditBefore: now - auditMs, maxBytes: logBytes }) ||
      events.step(now - eventsMs, now) ||
      sessions.retainStep(now - sessionsMs) ||
      denials.retainStep(now - sessionsMs) ||
      alerts.retainStep(now - sessionsMs) ||
      history(now - samplesMs, now - rollupsMs) ||
      logs.indexStep()
    );
  };
  // A full disk is the very time to go on deleting: the next round tries again.
  return createLoop(
    () => {
      const isMore = step() > 0;
      watch.save();
      return isMore;
    },
    ROUND_MS,
    "Old entries could not be deleted",
    timers,
    log,
  );
}

/**
 * Deletes one step of the samples and rollups before two instants, and answers how many rows these were. A day goes when
 * all of it is older.
 */
export function createHistoryRetention(store: Store): (samplesFrom: number, rollupsFrom: number) => number {
  const { sqlite } = store;
  const before = (table: string, column: string) =>
    sqlite.query<null, [number, number]>(
      `DELETE FROM ${table} WHERE ${column} IN (SELECT ${column} FROM ${table} WHERE ${column} < ? ORDER BY ${column} LIMIT ?)`,
    );
  const samples = before("sample_days", "key");
  const sites = before("site_days", "day");
  const rollups = [before("rollup_hours", "key"), before("rollup_days", "key")];
  const servers = sqlite.query<{ id: string }, []>("SELECT id FROM servers");
  const coverage = sqlite.query<null, [string, number, number]>(
    `DELETE FROM coverage WHERE server_id = ?1 AND from_at IN
       (SELECT from_at FROM coverage WHERE server_id = ?1 AND from_at < ?2 AND until_at <= ?2 ORDER BY from_at LIMIT ?3)`,
  );

  return (samplesFrom, rollupsFrom) => {
    const [samplesDay, rollupsDay] = [dayOf(samplesFrom), dayOf(rollupsFrom)];
    return deleteStep(store, (limit) => {
      let rows = samples.run(packedKey(samplesDay, 0), limit).changes;
      rows ||= sites.run(samplesDay, limit).changes;
      for (const rollup of rollups) rows ||= rollup.run(packedKey(rollupsDay, 0), limit).changes;
      if (rows > 0) return rows;
      for (const { id } of servers.all()) {
        if (rows >= limit) break;
        rows += coverage.run(id, samplesDay * DAY_MS, limit).changes;
      }
      return rows;
    });
  };
}
