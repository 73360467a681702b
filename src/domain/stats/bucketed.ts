import type { Step } from "../history.ts";
import { fourDecimals } from "./rounding.ts";
import { createCutter } from "./spans.ts";
import { addSums, addTime, emptySums, type UsageSums } from "./usage-sums.ts";

/** One bucket of a series. Null where there is no coverage. */
export interface Point {
  /** Start of the bucket, epoch ms; the first may lie before the range. */
  readonly at: number;
  /** Mean over the covered time. */
  readonly used: number | null;
  readonly peakUsed: number | null;
  /** Seats issued when last known in the bucket. */
  readonly total: number | null;
}

/** Sums by bucket: fed with steps, or with rollups that lie within one bucket each. */
export interface Bucketed {
  addSpan(step: Step, from: number, to: number): void;
  /** Sums of a stretch that begins at `from`: they go to the bucket of their beginning. */
  addSums(from: number, sums: Readonly<UsageSums>): void;
  points(): Point[];
}

/** `edges` as of `bucketEdges`. Spans may come in any order, but ascending ones are found at once. */
export function createBucketed(edges: readonly number[]): Bucketed {
  const buckets: (UsageSums | undefined)[] = [];
  const { placeOf, cut } = createCutter(edges);

  function sumsOf(place: number): UsageSums {
    const sums = buckets[place] ?? emptySums();
    buckets[place] = sums;
    return sums;
  }

  return {
    addSpan(step, from, to) {
      if (step.used !== null) cut(from, to, (place, at, until) => addTime(sumsOf(place), step, at, until));
    },
    addSums(from, sums) {
      if (sums.coveredMs > 0) addSums(sumsOf(placeOf(from)), sums);
    },
    points: () =>
      edges.slice(0, -1).map((at, place) => {
        const { coveredMs, usedMs, peakUsed, total } = buckets[place] ?? emptySums();
        return { at, used: coveredMs > 0 ? fourDecimals(usedMs / coveredMs) : null, peakUsed, total };
      }),
  };
}
