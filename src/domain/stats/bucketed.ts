import type { Series, Step } from "../history.ts";
import { fourDecimals } from "./rounding.ts";
import { eachSpan } from "./spans.ts";
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
  let current = 0;

  function seek(at: number): void {
    if (at < (edges[current] ?? 0)) current = 0;
    // A jump forward of many buckets (a long gap) must not be walked.
    if (at >= (edges[current + 1] ?? Infinity)) current = bucketOf(edges, at, current + 1);
  }
  function sumsOf(index: number): UsageSums {
    let sums = buckets[index];
    if (sums === undefined) {
      sums = emptySums();
      buckets[index] = sums;
    }
    return sums;
  }

  return {
    addSpan(step, from, to) {
      if (step.used === null) return;
      seek(from);
      for (let at = from; at < to; ) {
        const until = Math.min(to, edges[current + 1] ?? to);
        addTime(sumsOf(current), step, at, until);
        at = until;
        if (at < to) current++;
      }
    },
    addSums(from, sums) {
      if (sums.coveredMs === 0) return;
      seek(from);
      addSums(sumsOf(current), sums);
    },
    points: () =>
      edges.slice(0, -1).map((at, index) => {
        const sums = buckets[index];
        if (sums === undefined || sums.coveredMs === 0)
          return { at, used: null, peakUsed: null, total: null };
        return {
          at,
          used: fourDecimals(sums.usedMs / sums.coveredMs),
          peakUsed: sums.peakUsed,
          total: sums.total,
        };
      }),
  };
}

export function pointsOf(series: Series, edges: readonly number[]): Point[] {
  const bucketed = createBucketed(edges);
  eachSpan(series, bucketed.addSpan);
  return bucketed.points();
}

/** The last bucket from `low` on that begins at or before `at`. */
function bucketOf(edges: readonly number[], at: number, low: number): number {
  let high = edges.length - 1;
  let first = low;
  while (high - first > 1) {
    const middle = (first + high) >> 1;
    if ((edges[middle] ?? Infinity) <= at) first = middle;
    else high = middle;
  }
  return first;
}
