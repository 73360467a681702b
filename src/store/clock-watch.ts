import type { Log } from "../domain/log.ts";
import { type Clock, clockMessage, DAY_MS } from "../domain/time/clock.ts";
import { createMarks } from "./events.ts";
import type { Store } from "./open/open.ts";

export type ClockWatch = ReturnType<typeof createClockWatch>;

export interface ClockLook {
  /** The clock, epoch ms. */
  readonly now: number;
  /** What retention takes for now, epoch ms. */
  readonly retentionNow: number;
  /** The clock is right: what is stored with later times was stored by a clock that was wrong. */
  readonly isTrusted: boolean;
  /** How often this process has begun to doubt the clock. */
  readonly doubts: number;
}

interface ClockWatchDeps {
  readonly store: Store;
  readonly clock: Clock;
  /** Milliseconds of a clock that never jumps. */
  readonly elapsed: () => number;
  /** Whether the kernel's clock is synchronised by a time service. False when that cannot be known. */
  readonly isSynchronised: () => Promise<boolean>;
  readonly log: Log;
}

/** How far the clock may be from the stored time, e.g. after a night in which the daemon did not run. */
const TOLERANCE_MS = DAY_MS;
const FASTEST = 24;
const ASK_MS = 60_000;
const SAVE_MS = 10 * 60_000;

interface Doubt {
  readonly offsetMs: number;
  readonly sinceMs: number;
  askedMs: number;
  /** The kernel was asked once, and did not confirm the clock. */
  isLogged: boolean;
  isSynchronised: boolean;
}

/**
 * Holds the clock against the time that is stored, so that a clock that is wrong deletes nothing.
 *
 * `trusted_time` goes on by the time that the daemon runs. While the clock is within a day of it, it follows the clock.
 * A clock further away is doubted until the kernel says that it is synchronised or until the daemon ran for a day with
 * it. Of a clock that is behind a day proves too little to take anything back: it only ends the warning.
 *
 * `retention_time` is what retention takes for now: never ahead of the clock, and at most 24 times as fast as the daemon
 * runs, which is a day an hour. A host that was switched off for weeks catches up so, too.
 */
export function createClockWatch({ store, clock, elapsed, isSynchronised, log }: ClockWatchDeps) {
  const marks = createMarks(store);
  let lastMs = elapsed();
  // A database of before there were marks is as old as what was stored last.
  let trusted = marks.get("trusted_time") || newestStored(store) || clock.now();
  let retained = marks.get("retention_time") || trusted;
  let saved = { trusted: 0, retained: 0 };
  let doubt: Doubt | null = null;
  let doubts = 0;

  /** Takes the time that went by into account. Call it often; the first call stands for the start. */
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
    /** Stores both times when they went on far enough. Throws a StoreError. */
    save(): void {
      if (isNear(trusted, saved.trusted, SAVE_MS) && isNear(retained, saved.retained, SAVE_MS)) return;
      store.transaction(() => {
        marks.set("trusted_time", Math.round(trusted));
        marks.set("retention_time", Math.round(retained));
      });
      saved = { trusted, retained };
    },
    /** By how much the clock is ahead of the stored time, in ms, negative = behind; null = nothing speaks against it. */
    doubtMs: (): number | null => (doubt?.isLogged === true ? doubted() : null),
    /** The same at this moment, also before the kernel was asked. */
    doubtNowMs(): number | null {
      look();
      return doubted();
    },
  };
}

function isNear(a: number, b: number, withinMs = TOLERANCE_MS): boolean {
  return Math.abs(a - b) <= withinMs;
}

/** When the last event was stored, or the last reading where there is no event; null = nothing was. */
function newestStored({ sqlite, read }: Store): number | null {
  const newest = sqlite.query<{ at: number | null }, []>(
    `SELECT coalesce((SELECT at FROM events ORDER BY id DESC LIMIT 1), (SELECT max(read_at) FROM coverage)) AS at`,
  );
  return read(() => newest.get())?.at ?? null;
}
