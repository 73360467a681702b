import type { Store } from "../open.ts";
import { DAY_MS, HOUR_MS } from "./spans.ts";

/** The hours and days that are still to be rolled up, again or for the first time. Instants are bucket begins. */
export interface OpenBuckets {
  /** Notes every hour and day that [from, until] touches; runs in the caller's transaction. */
  touch(from: number, until: number): void;
  /** The earliest bucket that was over before an instant: hours before the days that they make up. */
  next(overBefore: number): OpenBucket | null;
  /** Ends the work on a bucket, unless there was news since `next` named it; runs in the caller's transaction. */
  close(bucket: OpenBucket): void;
}

export interface OpenBucket {
  readonly span: number;
  readonly at: number;
  readonly touches: number;
}

export function createOpenBuckets({ sqlite }: Pick<Store, "sqlite">): OpenBuckets {
  const insert = sqlite.query<null, [number, number]>(
    "INSERT INTO history_open (span, at, touches) VALUES (?, ?, 1) ON CONFLICT DO UPDATE SET touches = touches + 1",
  );
  const earliest = sqlite.query<OpenBucket, [number, number]>(
    "SELECT span, at, touches FROM history_open WHERE span = ? AND at <= ? ORDER BY at LIMIT 1",
  );
  const remove = sqlite.query<null, [number, number, number]>(
    "DELETE FROM history_open WHERE span = ? AND at = ? AND touches = ?",
  );

  return {
    touch(from, until) {
      for (const span of [HOUR_MS, DAY_MS]) {
        for (let at = Math.floor(from / span) * span; at <= until; at += span) insert.run(span, at);
      }
    },
    next(overBefore) {
      const hour = earliest.get(HOUR_MS, overBefore - HOUR_MS);
      const day = earliest.get(DAY_MS, overBefore - DAY_MS);
      return day !== null && (hour === null || hour.at >= day.at + DAY_MS) ? day : hour;
    },
    close: ({ span, at, touches }) => void remove.run(span, at, touches),
  };
}
