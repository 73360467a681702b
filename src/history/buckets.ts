import type { CountedFeature } from "../domain/history.ts";
import { DAY_MS, HOUR_MS } from "../domain/time/clock.ts";
import type { Store } from "../store/open/open.ts";

/** A feature with the small id under which its history is stored. */
export interface KnownFeature extends CountedFeature {
  readonly id: number;
}

/** Feature ids are below this, so that a day and a feature fit into one number. */
const FEATURES = 2 ** 24;

/** Returns the key of a packed row: `day` counts days since 1970-01-01 UTC. */
export function packedKey(day: number, featureId: number): number {
  return day * FEATURES + featureId;
}

export function featureOfKey(key: number): number {
  return key % FEATURES;
}

export function dayOfKey(key: number): number {
  return Math.floor(key / FEATURES);
}

export function dayOf(at: number): number {
  return Math.floor(at / DAY_MS);
}

export function hourStart(at: number): number {
  return Math.floor(at / HOUR_MS) * HOUR_MS;
}

export function hourEnd(at: number): number {
  return Math.ceil(at / HOUR_MS) * HOUR_MS;
}

/** An hour or day that must be rolled up, again or for the first time, beginning at `at`. */
export interface OpenBucket {
  readonly span: number;
  readonly at: number;
}

export type OpenBuckets = ReturnType<typeof createOpenBuckets>;

/** Hours and days to roll up. Everything here runs in the caller's transaction. */
export function createOpenBuckets({ sqlite }: Pick<Store, "sqlite">) {
  const on = (sql: string) => sqlite.query<null, [number, number]>(sql);
  // Most polls touch a bucket that is already open; such a row is not written again.
  const insert = on(
    "INSERT INTO history_open (span, at, touches) VALUES (?, ?, 1) ON CONFLICT DO UPDATE SET touches = 1 WHERE touches = 0",
  );
  const earliest = sqlite.query<OpenBucket, [number, number]>(
    "SELECT span, at FROM history_open WHERE span = ? AND at <= ? ORDER BY at LIMIT 1",
  );
  const begin = on("UPDATE history_open SET touches = 0 WHERE span = ? AND at = ?");
  const remove = on("DELETE FROM history_open WHERE span = ? AND at = ? AND touches = 0");

  return {
    /** Opens every hour and day that [from, until] touches. */
    touch(from: number, until: number): void {
      for (const span of [HOUR_MS, DAY_MS])
        for (let at = Math.floor(from / span) * span; at <= until; at += span) insert.run(span, at);
    },
    /** Starts work on the earliest bucket that ended before `overBefore`; hours come before their days. */
    next(overBefore: number): OpenBucket | null {
      const hour = earliest.get(HOUR_MS, overBefore - HOUR_MS);
      const day = earliest.get(DAY_MS, overBefore - DAY_MS);
      const next = day !== null && (hour === null || hour.at >= day.at + DAY_MS) ? day : hour;
      if (next !== null) begin.run(next.span, next.at);
      return next;
    },
    /** Finishes work on a bucket, unless it was touched since `next` returned it. */
    close: ({ span, at }: OpenBucket): void => void remove.run(span, at),
  };
}
