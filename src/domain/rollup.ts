import { emptySums, type UsageSums } from "./stats/usage-sums.ts";

/**
 * A feature's counts over a bucket of time, in a form that adds up. Peaks, percentiles, utilization and the share of
 * time in which the k-th seat was busy do not follow from those of smaller buckets; the time at each level does.
 * Whole numbers alone, so that the order of adding changes nothing.
 */
export interface Rollup {
  /** One for each total that was in force; ascending by total, what has none first. */
  readonly groups: readonly RollupGroup[];
  /** Seats issued in the last covered moment; null when unlimited or unknown, or when nothing is covered. */
  readonly total: number | null;
  /** End of the last covered moment (epoch ms); null when nothing is covered. */
  readonly coveredUntil: number | null;
  /** Small ids of the users who had a session in the bucket, ascending. */
  readonly users: readonly number[];
  /** Null: nobody counts them. */
  readonly denials: number | null;
}

/** The covered time in which `total` seats were issued. */
export interface RollupGroup {
  readonly total: number | null;
  readonly unlimited: boolean;
  /** `[used, ms]`: for how long so many seats were in use; ascending by `used`, each `ms` above 0. */
  readonly levels: readonly Level[];
}

export type Level = readonly [used: number, ms: number];

/** A rollup of the bucket that begins at `at` (epoch ms). */
export interface Bucket {
  readonly at: number;
  readonly rollup: Rollup;
}

export const NO_ROLLUP: Rollup = { groups: [], total: null, coveredUntil: null, users: [], denials: null };

/** For how long `used` was known, in ms. */
export function coveredMs({ groups }: Pick<Rollup, "groups">): number {
  let sum = 0;
  for (const { levels } of groups) for (const [, ms] of levels) sum += ms;
  return sum;
}

/** The sums of a rollup, as steps give them. */
export function sumsOfRollup(rollup: Rollup): UsageSums {
  const sums = emptySums();
  for (const { total, unlimited, levels } of rollup.groups) {
    let groupMs = 0;
    let usedMs = 0;
    let peak = 0;
    for (const [used, ms] of levels) {
      groupMs += ms;
      usedMs += used * ms;
      peak = used;
      if (total !== null && total > 0 && used >= total) sums.saturatedMs += ms;
    }
    sums.coveredMs += groupMs;
    sums.usedMs += usedMs;
    sums.peakUsed = Math.max(sums.peakUsed ?? 0, peak);
    if (unlimited) sums.judgedMs += groupMs;
    if (unlimited || total === null || total === 0) continue;
    sums.ratedMs += groupMs;
    sums.judgedMs += groupMs;
    sums.utilizationMs += usedMs / total;
    sums.peakUtilization = Math.max(sums.peakUtilization ?? 0, peak / total);
  }
  sums.total = rollup.total;
  sums.coveredUntil = rollup.coveredUntil;
  return sums;
}

/** How long each number of seats was in use, whatever the total was. */
export function histogramOfRollup({ groups }: Pick<Rollup, "groups">): Map<number, number> {
  const histogram = new Map<number, number>();
  for (const { levels } of groups) {
    for (const [used, ms] of levels) histogram.set(used, (histogram.get(used) ?? 0) + ms);
  }
  return histogram;
}
