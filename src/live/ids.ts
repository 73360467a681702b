import type { Clock } from "../domain/time/clock.ts";

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
  /**
   * Called once when ids run ahead of the clock: it was set back, or more than one event a millisecond came for long.
   * The id that was asked for has not been used yet: an event that tells of it must wait its turn.
   */
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
      // Kept: whoever is called below may ask for an id of his own.
      const id = Math.max(now, last + 1);
      last = id;
      if (id > reserved) {
        reserved = id + RESERVE_STEP;
        reserve(reserved);
      }
      const ahead = id - now;
      if (ahead <= TRUSTED_AHEAD_MS) {
        if (ahead === 0) saidAhead = false;
        return { id, timestamp: id };
      }
      if (!saidAhead) {
        saidAhead = true;
        onAhead(ahead);
      }
      return { id, timestamp: now };
    },
    last: () => last,
  };
}
