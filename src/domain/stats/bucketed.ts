import type { Static } from "@sinclair/typebox";
import type { Step } from "../history.ts";
import type { SeriesPoint } from "../history-records.ts";
import { dayEdges } from "./calendar.ts";
import { fourDecimals } from "./figures.ts";
import { addSums, addTime, emptySums, type UsageSums } from "./rollup.ts";
import { createCutter } from "./spans.ts";

/** Widths of a series' buckets. Days are those of a zone: 23 to 25 hours where clocks are set. */
export const INTERVALS = ["5m", "1h", "1d"] as const;
export type Interval = (typeof INTERVALS)[number];

const WIDTH_MS = { "5m": 300_000, "1h": 3_600_000, "1d": 86_400_000 } as const;
/** `auto` takes the smallest interval that gives at most so many buckets. */
const AUTO_BUCKETS = 400;

/** Buckets that [start, end) touches. Answered without making them: a range may be absurd. */
export function bucketCount(interval: Interval, start: number, end: number): number {
  const width = WIDTH_MS[interval];
  // Days of a zone may touch one more.
  return Math.floor((end - 1) / width) - Math.floor(start / width) + (interval === "1d" ? 2 : 1);
}

export function autoInterval(start: number, end: number): Interval {
  return INTERVALS.find((interval) => bucketCount(interval, start, end) <= AUTO_BUCKETS) ?? "1d";
}

/**
 * Edges of the buckets that [start, end) touches, ascending: the first at or before `start`, the last at or after
 * `end`; bucket i is [edges[i], edges[i + 1]). Hours and fives of minutes are those of UTC.
 */
export function bucketEdges(interval: Interval, start: number, end: number, zone: string): number[] {
  if (interval === "1d") return dayEdges(start, end, zone);
  const width = WIDTH_MS[interval];
  const first = Math.floor(start / width);
  return Array.from({ length: Math.ceil(end / width) - first + 1 }, (_, place) => (first + place) * width);
}

/** One bucket of a series; it begins at `at` (epoch ms), the first one maybe before the range. */
export type Point = Omit<Static<typeof SeriesPoint>, "timestamp"> & { readonly at: number };

/**
 * Sums by bucket: fed with steps, or with rollups that lie within one bucket each. `edges` as of `bucketEdges`. Spans may
 * come in any order, but ascending ones are found at once.
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
    /** Sums of a stretch that begins at `from`: they go to the bucket of their beginning. */
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
