import type { Store } from "../open.ts";
import { DAY_MS, HOUR_MS } from "./spans.ts";

/** The hours and days that are still to be rolled up, again or for the first time. Instants are bucket begins. */
export interface OpenBuckets {
  /** Notes every hour and day that [from, until] touches; runs in the caller's transaction. */
  touch(from: number, until: number): void;
  /** The earliest bucket that was over before an instant: hours before the days that they make up. */
  next(overBefore: number): OpenBucket | null;
  /** Ends the work on a bucket, unless it was touched since `next` named it; runs in the caller's transaction. */
  close(bucket: OpenBucket): void;
}

export interface OpenBucket {
  readonly span: typeof HOUR_MS | typeof DAY_MS;
  readonly at: number;
  readonly touches: number;
}

/** One for the process: it knows what is touched while a bucket is worked on. */
export function createOpenBuckets({ sqlite }: Store): OpenBuckets {
  const insert = sqlite.query<null, [number, number]>(
    "INSERT OR IGNORE INTO history_open (span, at) VALUES (?, ?)",
  );
  const earliest = sqlite.query<{ at: number }, [number, number]>(
    "SELECT at FROM history_open WHERE span = ? AND at < ? ORDER BY at LIMIT 1",
  );
  const remove = sqlite.query<null, [number, number]>("DELETE FROM history_open WHERE span = ? AND at = ?");
  const touches = new Map<number, number>();

  function touchSpan(span: number, from: number, until: number): void {
    for (let at = Math.floor(from / span) * span; at <= until; at += span) {
      insert.run(span, at);
      if (span === HOUR_MS) touches.set(at, (touches.get(at) ?? 0) + 1);
    }
  }

  return {
    touch(from, until) {
      touchSpan(HOUR_MS, from, until);
      touchSpan(DAY_MS, from, until);
    },
    next(overBefore) {
      const hour = earliest.get(HOUR_MS, overBefore - HOUR_MS + 1)?.at;
      const day = earliest.get(DAY_MS, overBefore - DAY_MS + 1)?.at;
      if (day !== undefined && (hour === undefined || hour >= day + DAY_MS)) {
        return { span: DAY_MS, at: day, touches: 0 };
      }
      return hour === undefined ? null : { span: HOUR_MS, at: hour, touches: touches.get(hour) ?? 0 };
    },
    close({ span, at, touches: seen }) {
      if (span === HOUR_MS && (touches.get(at) ?? 0) !== seen) return;
      remove.run(span, at);
      touches.delete(at);
    },
  };
}
