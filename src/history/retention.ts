import type { Log } from "../domain/log.ts";
import { createAlerts } from "../store/alerts.ts";
import type { ClockWatch } from "../store/clock-watch.ts";
import { StoreError } from "../store/database/store-error.ts";
import { createDenials } from "../store/denials.ts";
import { createEventRetention } from "../store/event-retention.ts";
import { createLogs } from "../store/logs.ts";
import type { Store } from "../store/open/open.ts";
import { createHistoryRetention, type HistoryKeep } from "./retain.ts";
import { createSessions } from "./sessions/sessions.ts";
import { createTakeBack } from "./take-back.ts";

/** How long stored things are kept. */
export interface Keep extends HistoryKeep {
  readonly sessionsMs: number;
  readonly eventsMs: number;
  readonly logsMs: number;
  readonly logBytes: number;
  readonly auditMs: number;
}

export interface RetentionTimers {
  set(work: () => void, ms: number): unknown;
  clear(timer: unknown): void;
}

export interface Retention {
  start(): void;
  stop(): void;
}

export interface RetentionDeps {
  readonly store: Store;
  readonly watch: Pick<ClockWatch, "look" | "save">;
  readonly timers: RetentionTimers;
  readonly log: Log;
  /** Asked before every round, so that a reload holds from the next one on. */
  readonly keep: () => Keep;
}

const ROUND_MS = 60_000;
/** Between two steps others get the event loop; a step takes a few milliseconds. */
const PAUSE_MS = 20;
const STEP_ROWS = 500;

/** Deletes what is older, or more, than it may be: in small steps that nobody has to wait for. */
export function createRetention({ store, watch, timers, log, keep }: RetentionDeps): Retention {
  const logs = createLogs(store);
  const events = createEventRetention(store, STEP_ROWS);
  const sessions = createSessions(store);
  const denials = createDenials(store);
  const alerts = createAlerts(store);
  const history = createHistoryRetention(store);
  const takeBack = createTakeBack(store);
  /** Nothing is left of a clock that was ahead. */
  let isTakenBack = false;
  let timer: unknown = null;
  let stopped = true;

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
      history.step(now, { samplesMs, rollupsMs }) ||
      logs.indexStep()
    );
  };

  const run = () => {
    timer = null;
    if (stopped) return;
    let wait = ROUND_MS;
    try {
      if (step() > 0) wait = PAUSE_MS;
      watch.save();
    } catch (error) {
      // A full disk is the very time to go on deleting: the next round tries again.
      log.warn("Old entries could not be deleted", {
        error: error instanceof StoreError ? error.message : String(error),
      });
    }
    timer = timers.set(run, wait);
  };

  return {
    start() {
      stopped = false;
      timer = timers.set(run, PAUSE_MS);
    },
    stop() {
      stopped = true;
      if (timer !== null) timers.clear(timer);
    },
  };
}
