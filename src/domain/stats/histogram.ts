import { firstWhere } from "./spans.ts";

/** How long each number of seats was in use: seats → ms of covered time. Histograms add up, quantiles do not. */
export type Histogram = ReadonlyMap<number, number>;

export function addToHistogram(histogram: Map<number, number>, used: number, ms: number): void {
  if (ms > 0) histogram.set(used, (histogram.get(used) ?? 0) + ms);
}

/**
 * The least number of seats that was enough for this share of the time (nearest rank, weighted by time);
 * null when nothing is covered.
 */
export function quantile(histogram: Histogram, share: number): number | null {
  const rising = [...histogram].sort(([a], [b]) => a - b);
  const covered = rising.reduce((sum, [, ms]) => sum + ms, 0);
  let reached = 0;
  for (const [used, ms] of rising) {
    reached += ms;
    if (reached >= share * covered) return used;
  }
  return null;
}

/** Answers, for any number of seats, the time in which at least so many were in use. */
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
