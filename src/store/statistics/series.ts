import { sumsOfRollup } from "../../domain/rollup.ts";
import { createBucketed, type Point } from "../../domain/stats/bucketed.ts";
import { eachSpan } from "../../domain/stats/spans.ts";
import type { UsageSums } from "../../domain/stats/usage-sums.ts";
import type { HistoryRead, KnownFeature, Reach } from "../history/read.ts";
import type { Range } from "./range.ts";

const HOUR_MS = 3_600_000;

/** What takes a feature's history in, be it steps or hours. */
interface Sink {
  addSpan: Parameters<typeof eachSpan>[1];
  addSums(from: number, sums: Readonly<UsageSums>): void;
}

/**
 * Feeds a range: whole hours where nothing is divided within one, else the steps as far as samples reach. Before
 * that there are hours alone.
 */
export function feed(
  read: Pick<HistoryRead, "series" | "hours" | "reach">,
  feature: KnownFeature,
  { start, end }: Range,
  byHours: boolean,
  sink: Sink,
): void {
  const from = Math.ceil(start / HOUR_MS) * HOUR_MS;
  const lastHour = Math.floor(end / HOUR_MS) * HOUR_MS;
  const until = byHours ? lastHour : Math.min(lastHour, hoursAlone(read.reach()));
  const steps = (a: number, b: number) => {
    if (a < b) eachSpan(read.series(feature, a, b), sink.addSpan);
  };
  if (from >= until) {
    steps(start, end);
    return;
  }
  steps(start, from);
  for (const { at, rollup } of read.hours(feature, from, until)) {
    sink.addSums(at, sumsOfRollup(rollup));
  }
  steps(until, end);
}

/** End of the hours of which no samples are left. */
function hoursAlone({ samplesFrom, rollupsFrom }: Reach): number {
  if (samplesFrom === null || rollupsFrom === null || rollupsFrom >= samplesFrom) return 0;
  return Math.ceil(samplesFrom / HOUR_MS) * HOUR_MS;
}

/** The points of one feature. `edges` as of `bucketEdges`. */
export function pointsFor(
  read: Pick<HistoryRead, "series" | "hours" | "reach">,
  feature: KnownFeature,
  range: Range,
  edges: readonly number[],
): Point[] {
  const bucketed = createBucketed(edges);
  feed(read, feature, range, edges.every(isWholeHour), bucketed);
  return bucketed.points();
}

function isWholeHour(at: number): boolean {
  return at % HOUR_MS === 0;
}
