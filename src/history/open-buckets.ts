import type { Store } from "../store/open/open.ts";
import { DAY_MS, HOUR_MS } from "./spans.ts";

/** The hours and days that are still to be rolled up, again or for the first time. Instants are bucket begins. */
export interface OpenBuckets {
  /**
   * Notes every hour and day that [from, until] touches; runs in the caller's transaction. The answer, called after its
   * commit, spares what comes next the writing of the same.
   */
  touch(from: number, until: number): () => void;
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

  /** Buckets that are surely stored as open, and that nobody works on. */
  const known = new Set<string>();

  return {
    touch(from, until) {
      const fresh: string[] = [];
      for (const span of [HOUR_MS, DAY_MS]) {
        for (let at = Math.floor(from / span) * span; at <= until; at += span) {
          const key = `${span} ${at}`;
          if (known.has(key)) continue;
          insert.run(span, at);
          fresh.push(key);
        }
      }
      return () => {
        for (const key of fresh) known.add(key);
      };
    },
    next(overBefore) {
      const hour = earliest.get(HOUR_MS, overBefore - HOUR_MS);
      const day = earliest.get(DAY_MS, overBefore - DAY_MS);
      const next = day !== null && (hour === null || hour.at >= day.at + DAY_MS) ? day : hour;
      if (next !== null) known.delete(`${next.span} ${next.at}`);
      return next;
    },
    close: ({ span, at, touches }) => void remove.run(span, at, touches),
  };
}
