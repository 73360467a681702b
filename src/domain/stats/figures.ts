import type { CountedFeature } from "../history.ts";
import type { StatsRecord } from "../history-records.ts";
import { HOUR_MS } from "../time/clock.ts";
import { type Rollup, sumsOfRollup } from "./rollup.ts";
import { firstWhere } from "./spans.ts";

export type Figures = Omit<StatsRecord, keyof CountedFeature | "series">;

type People = Pick<Figures, "uniqueUsers" | "sessions" | "heldSeatHours" | "denials" | "queuedRequests">;

const P95 = 0.95;

export function figuresOf(rollup: Rollup, rangeMs: number, people: People): Figures {
  const { coveredMs, usedMs, peakUsed, ratedMs, utilizationMs, total } = sumsOfRollup(rollup);
  const covered = coveredMs > 0;
  return {
    total,
    peakUsed,
    averageUsed: covered ? fourDecimals(usedMs / coveredMs) : null,
    p95Used: quantile(histogramOfRollup(rollup), P95),
    peakUtilization: percentOf(peakUtilization(rollup)),
    averageUtilization: ratedMs > 0 ? percentOf(utilizationMs / ratedMs) : null,
    uniqueUsers: people.uniqueUsers,
    sessions: people.sessions,
    usedSeatHours: covered ? seatHours(usedMs) : null,
    heldSeatHours: people.heldSeatHours,
    saturatedSeconds: saturatedSeconds(rollup),
    denials: people.denials,
    queuedRequests: people.queuedRequests,
    coverage: shareOf(coveredMs, rangeMs),
  };
}

function peakUtilization({ groups }: Rollup): number | null {
  const ratios = groups.flatMap(({ total, levels }) =>
    total === null || total === 0 ? [] : [(levels.at(-1)?.[0] ?? 0) / total],
  );
  return ratios.length === 0 ? null : Math.max(...ratios);
}

function saturatedSeconds({ groups }: Rollup): number | null {
  const judged = groups.filter(({ total, unlimited }) => unlimited || (total !== null && total > 0));
  if (judged.length === 0) return null;
  const saturated = judged.flatMap(({ total, levels }) =>
    levels.flatMap(([used, ms]) => (total !== null && used >= total ? [ms] : [])),
  );
  return Math.round(saturated.reduce((sum, ms) => sum + ms, 0) / 1000);
}

/**
 * Time for which each number of seats was in use: seats → ms of covered time. Histograms can be added,
 * quantiles cannot.
 */
export type Histogram = ReadonlyMap<number, number>;

export function addToHistogram(histogram: Map<number, number>, used: number, ms: number): void {
  if (ms > 0) histogram.set(used, (histogram.get(used) ?? 0) + ms);
}

export function histogramOfRollup({ groups }: Pick<Rollup, "groups">): Map<number, number> {
  const histogram = new Map<number, number>();
  for (const { levels } of groups) {
    for (const [used, ms] of levels) addToHistogram(histogram, used, ms);
  }
  return histogram;
}

/** Returns a quantile by nearest rank, weighted by time. */
function quantile(histogram: Histogram, share: number): number | null {
  const rising = [...histogram].sort(([a], [b]) => a - b);
  const covered = rising.reduce((sum, [, ms]) => sum + ms, 0);
  let reached = 0;
  for (const [used, ms] of rising) {
    reached += ms;
    if (reached >= share * covered) return used;
  }
  return null;
}

/** Returns a function that maps a number of seats to the time in which at least that many were in use. */
export function timeAtLeast(histogram: Histogram): (seats: number) => number {
  const falling = [...histogram].sort(([a], [b]) => b - a);
  const levels: number[] = [];
  const sums: number[] = [];
  let sum = 0;
  for (const [used, ms] of falling) {
    sum += ms;
    levels.push(used);
    sums.push(sum);
  }
  return (seats) => sums[firstWhere(levels.length, (place) => (levels[place] ?? 0) < seats) - 1] ?? 0;
}

/** Returns a ratio in percent. Never rounds up to 100, because 99.997 % is not all. */
export function percentOf(ratio: number | null): number | null {
  if (ratio === null) return null;
  const percent = Math.round(ratio * 10_000) / 100;
  // Tolerate rounding: a sum of fractions may end slightly below 1.
  return ratio < 1 - 1e-9 ? Math.min(percent, 99.99) : percent;
}

export function fourDecimals(value: number): number {
  return Math.round(value * 10_000) / 10_000;
}

export function seatHours(seatMs: number): number {
  return fourDecimals(seatMs / HOUR_MS);
}

/** Returns a share with six decimals: half a minute of a year. The share of an empty range is 0. */
export function shareOf(part: number, whole: number): number {
  return whole > 0 ? Math.round((part / whole) * 1_000_000) / 1_000_000 : 0;
}
