import type { Log } from "../domain/log.ts";
import { type Clock, clockMessage, DAY_MS } from "../domain/time/clock.ts";
import { createMarks } from "./events.ts";
import type { Store } from "./open/open.ts";

export type ClockWatch = ReturnType<typeof createClockWatch>;

export interface ClockLook {
  readonly now: number;
  readonly retentionNow: number;
  /**
   * True if the clock is believed to be right. Times in the data that are later than `now` then come from a
   * wrong clock.
   */
  readonly isTrusted: boolean;
  /** How often this process has begun to doubt the clock. */
  readonly doubts: number;
}

interface ClockWatchDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly elapsed: () => number;
  /** Whether a time service synchronizes the kernel's clock; false if unknown. */
  readonly isSynchronised: () => Promise<boolean>;
  readonly log: Log;
}

/**
 * Maximum difference from the stored time at which the clock is trusted without confirmation. A day covers
 * a night in which the daemon did not run.
 */
const TOLERANCE_MS = DAY_MS;
const FASTEST = 24;
const ASK_MS = 60_000;
const SAVE_MS = 10 * 60_000;

interface Doubt {
  readonly offsetMs: number;
  readonly sinceMs: number;
  askedMs: number;
  /** True once the kernel was asked and did not confirm the clock. */
  isLogged: boolean;
  isSynchronised: boolean;
}

/**
 * Compares the clock with the stored time, so that a wrong clock deletes nothing.
 *
 * `trusted_time` advances while the daemon runs, and follows the clock while both are within a day. If the
 * clock is further away, it is doubted until the kernel reports the clock as synchronized or, if the clock
 * is ahead, until the daemon has run with this clock for a day.
 *
 * `retention_time` is the current time for retention: never ahead of the clock, and at most 24 times as
 * fast as the daemon runs. If the host was off for weeks, `retention_time` catches up at this speed.
 */
export function createClockWatch({ store, clock, elapsed, isSynchronised, log }: ClockWatchDeps) {
  const marks = createMarks(store);
  let lastMs = elapsed();
  // In databases without marks, begin with the time of the newest stored data.
  let trusted = marks.get("trusted_time") || newestStored(store) || clock.now();
  let retained = marks.get("retention_time") || trusted;
  let saved = { trusted: 0, retained: 0 };
  let doubt: Doubt | null = null;
  let doubts = 0;

  /** Accounts for the time elapsed since the last call. Must be called often. */
  function look(): ClockLook {
    const now = clock.now();
    const ms = elapsed();
    const passedMs = ms - lastMs;
    lastMs = ms;
    trusted += passedMs;
    const offsetMs = now - trusted;
    const isTrusted = isNear(offsetMs, 0) || isConfirmed(offsetMs, ms);
    if (isTrusted) {
      if (doubt?.isLogged === true) log.info("The clock is trusted again");
      doubt = null;
      trusted = now;
      retained = Math.min(retained, now);
    }
    retained = Math.max(retained, Math.min(now, retained + passedMs * FASTEST));
    return { now, retentionNow: Math.min(retained, now), isTrusted, doubts };
  }

  function isConfirmed(offsetMs: number, ms: number): boolean {
    if (doubt === null || !isNear(offsetMs, doubt.offsetMs)) {
      doubts++;
      doubt = {
        offsetMs: Math.round(offsetMs),
        sinceMs: ms,
        askedMs: -Infinity,
        isLogged: false,
        isSynchronised: false,
      };
    }
    if (doubt.isSynchronised || (offsetMs > 0 && ms - doubt.sinceMs >= DAY_MS)) return true;
    if (ms - doubt.askedMs >= ASK_MS) {
      doubt.askedMs = ms;
      void ask(doubt);
    }
    return false;
  }

  function doubted(): number | null {
    return doubt === null || elapsed() - doubt.sinceMs >= DAY_MS ? null : doubt.offsetMs;
  }

  async function ask(about: Doubt): Promise<void> {
    about.isSynchronised = await isSynchronised();
    if (about !== doubt || about.isSynchronised || about.isLogged) return;
    about.isLogged = true;
    log.warn(clockMessage(about.offsetMs), {
      seconds: Math.round(Math.abs(about.offsetMs) / 1000),
      fix: "have a time service set the clock, or set it by hand",
    });
  }

  return {
    look,
    /** Stores both times once they have advanced far enough. Throws a StoreError. */
    save(): void {
      if (isNear(trusted, saved.trusted, SAVE_MS) && isNear(retained, saved.retained, SAVE_MS)) return;
      store.transaction(() => {
        marks.set("trusted_time", Math.round(trusted));
        marks.set("retention_time", Math.round(retained));
      });
      saved = { trusted, retained };
    },
    /**
     * Returns by how many ms the clock is ahead of the stored time; negative means behind, null means
     * trusted.
     */
    doubtMs: (): number | null => (doubt?.isLogged === true ? doubted() : null),
    doubtNowMs(): number | null {
      look();
      return doubted();
    },
  };
}

function isNear(a: number, b: number, withinMs = TOLERANCE_MS): boolean {
  return Math.abs(a - b) <= withinMs;
}

function newestStored({ sqlite, read }: Store): number | null {
  const newest = sqlite.query<{ at: number | null }, []>(
    `SELECT coalesce((SELECT at FROM events ORDER BY id DESC LIMIT 1), (SELECT max(read_at) FROM coverage)) AS at`,
  );
  return read(() => newest.get())?.at ?? null;
}
