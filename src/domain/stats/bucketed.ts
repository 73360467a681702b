import type { Static } from "@sinclair/typebox";
import type { Step } from "../history.ts";
import type { SeriesPoint } from "../history-records.ts";
import { dayEdges } from "./calendar.ts";
import { fourDecimals } from "./figures.ts";
import { addSums, addTime, emptySums, type UsageSums } from "./rollup.ts";
import { createCutter } from "./spans.ts";

/** Bucket widths of a series. Days are those of a zone: 23 to 25 hours when clocks change. */
export const INTERVALS = ["5m", "1h", "1d"] as const;
export type Interval = (typeof INTERVALS)[number];

const WIDTH_MS = { "5m": 300_000, "1h": 3_600_000, "1d": 86_400_000 } as const;
/** Maximum number of buckets for `auto`, which picks the smallest interval within this limit. */
const AUTO_BUCKETS = 400;

/** Counts the buckets that [start, end) touches without making them: a range may be absurdly long. */
export function bucketCount(interval: Interval, start: number, end: number): number {
  const width = WIDTH_MS[interval];
  // Days of another time zone than UTC may add one bucket.
  return Math.floor((end - 1) / width) - Math.floor(start / width) + (interval === "1d" ? 2 : 1);
}

export function autoInterval(start: number, end: number): Interval {
  return INTERVALS.find((interval) => bucketCount(interval, start, end) <= AUTO_BUCKETS) ?? "1d";
}

/**
 * Returns the edges of the buckets that [start, end) touches, ascending. The first edge is at or before
 * `start`, the last at or after `end`. Bucket i is [edges[i], edges[i + 1]). Hours and 5-minute buckets are
 * aligned to UTC.
 */
export function bucketEdges(interval: Interval, start: number, end: number, zone: string): number[] {
  if (interval === "1d") return dayEdges(start, end, zone);
  const width = WIDTH_MS[interval];
  const first = Math.floor(start / width);
  return Array.from({ length: Math.ceil(end / width) - first + 1 }, (_, place) => (first + place) * width);
}

/** One bucket of a series that begins at `at` (epoch ms); the first may begin before the range. */
export type Point = Omit<Static<typeof SeriesPoint>, "timestamp"> & { readonly at: number };

/**
 * Sums steps by bucket, or rollups that each lie within one bucket. `edges` are those of `bucketEdges`.
 * Spans may come in any order; ascending spans are found without a search.
 */
export function createBucketed(edges: readonly number[]) {
  const buckets: (UsageSums | undefined)[] = [];
  const { placeOf, cut } = createCutter(edges);

  function sumsOf(place: number): UsageSums {
    const sums = buckets[place] ?? emptySums();
    buckets[place] = sums;
    return sums;
  }

  return {
    addSpan(step: Step, from: number, to: number): void {
      if (step.used !== null) cut(from, to, (place, at, until) => addTime(sumsOf(place), step, at, until));
    },
    addSums(from: number, sums: Readonly<UsageSums>): void {
      if (sums.coveredMs > 0) addSums(sumsOf(placeOf(from)), sums);
    },
    points: (): Point[] =>
      edges.slice(0, -1).map((at, place) => {
        const { coveredMs, usedMs, peakUsed, total } = buckets[place] ?? emptySums();
        return { at, used: coveredMs > 0 ? fourDecimals(usedMs / coveredMs) : null, peakUsed, total };
      }),
  };
}
