import { DAY_MS } from "./time.ts";

/** Time as an argument, so that tests need no sleep. */
export interface Clock {
  /** Epoch milliseconds. */
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };

/** Timers as an argument, so that tests of a schedule need no sleep. */
export interface Timers {
  /** Calls `run` after `ms`; the answer calls it off. */
  after(ms: number, run: () => void): () => void;
}

export const systemTimers: Timers = {
  after(ms, run) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};

/** Calls `run` every `ms` until the answer is called. */
export function repeat(ms: number, run: () => void): () => void {
  const timer = setInterval(run, ms);
  return () => clearInterval(timer);
}

/** ISO 8601 UTC with milliseconds, or null. */
export function iso(epochMs: number): string;
export function iso(epochMs: number | null): string | null;
export function iso(epochMs: number | null): string | null {
  return epochMs === null ? null : new Date(epochMs).toISOString();
}

/** What to say of a clock that is so far ahead of the time that is stored; negative = behind. Days are whole. */
export function clockMessage(offsetMs: number): string {
  const days = Math.floor(Math.abs(offsetMs) / DAY_MS);
  const far = days === 1 ? "1 day" : `${days} days`;
  return offsetMs > 0
    ? `The clock is ${far} ahead of what was stored last: retention follows it by a day an hour`
    : `The clock is ${far} behind what was stored last`;
}
