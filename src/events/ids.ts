import type { Clock } from "../domain/clock.ts";

/** How far ahead of the clock an id may be and still be taken as its time. */
const TRUSTED_AHEAD_MS = 1_000;
/** Ids reserved at a time: one small write a second under load, none when nothing happens. */
export const RESERVE_STEP = 1_000;

export interface Ids {
  /** The next id, and the instant that it stands for (epoch ms). */
  next(): { readonly id: number; readonly timestamp: number };
  /** The highest id given so far, or the start when none was. */
  last(): number;
}

export interface IdsDeps {
  readonly clock: Clock;
  /** Highest id that an earlier process may have given: what it had reserved. 0 for a new store. */
  readonly start: number;
  /** Notes durably that ids up to `highest` may be given. A failure must not stop the ids: it is the store's to report. */
  readonly reserve: (highest: number) => void;
  /** Called once when ids run ahead of the clock, i.e. the clock was set back. */
  readonly onAhead: (aheadMs: number) => void;
}

/**
 * Event ids: id = max(now in ms, last id + 1). They increase strictly over all streams, bursts inside one
 * millisecond, restarts and clocks that jump back.
 */
export function createIds({ clock, start, reserve, onAhead }: IdsDeps): Ids {
  let last = start;
  let reserved = start;
  let saidAhead = false;
  return {
    next() {
      const now = clock.now();
      last = Math.max(now, last + 1);
      if (last > reserved) {
        reserved = last + RESERVE_STEP;
        reserve(reserved);
      }
      const ahead = last - now;
      if (ahead <= TRUSTED_AHEAD_MS) {
        if (ahead === 0) saidAhead = false;
        return { id: last, timestamp: last };
      }
      if (!saidAhead) {
        saidAhead = true;
        onAhead(ahead);
      }
      return { id: last, timestamp: now };
    },
    last: () => last,
  };
}
