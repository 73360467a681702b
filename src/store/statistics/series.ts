import { sumsOfRollup } from "../../domain/rollup.ts";
import { createBucketed, type Point } from "../../domain/stats/bucketed.ts";
import { eachSpan } from "../../domain/stats/spans.ts";
import type { UsageSums } from "../../domain/stats/usage-sums.ts";
import type { HistoryRead, KnownFeature, Reach } from "../history/read.ts";
import type { Range } from "./range.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

type Reading = Pick<HistoryRead, "series" | "hours" | "days" | "reach">;

/** What takes a feature's history in, be it steps or hours. */
interface Sink {
  addSpan: Parameters<typeof eachSpan>[1];
  addSums(from: number, sums: Readonly<UsageSums>): void;
}

/** What may be taken as one: steps, whole UTC hours, or whole UTC days too. */
export type Grain = "step" | "hour" | "day";

/**
 * Feeds a range, by the largest pieces that its grain allows and steps at the edges. Where no samples are left there
 * are hours alone, whatever the grain.
 */
export function feed(
  read: Reading,
  feature: KnownFeature,
  { start, end }: Range,
  grain: Grain,
  sink: Sink,
): void {
  if (start >= end) return;
  const width = grain === "day" ? DAY_MS : HOUR_MS;
  const from = Math.ceil(start / width) * width;
  const lastWhole = Math.floor(end / width) * width;
  const until = grain === "step" ? Math.min(lastWhole, hoursAlone(read.reach())) : lastWhole;
  const rest = (a: number, b: number) => {
    if (grain === "day") feed(read, feature, { start: a, end: b }, "hour", sink);
    else if (a < b) eachSpan(read.series(feature, a, b), sink.addSpan);
  };
  if (from >= until) {
    rest(start, end);
    return;
  }
  rest(start, from);
  const whole =
    grain === "day" ? read.days(feature, from, until, false) : read.hours(feature, from, until, false);
  for (const { at, rollup } of whole) sink.addSums(at, sumsOfRollup(rollup));
  rest(until, end);
}

/** End of the hours of which no samples are left. */
function hoursAlone({ samplesFrom, rollupsFrom }: Reach): number {
  if (samplesFrom === null || rollupsFrom === null || rollupsFrom >= samplesFrom) return 0;
  return Math.ceil(samplesFrom / HOUR_MS) * HOUR_MS;
}

/** The points of one feature. `edges` as of `bucketEdges`. */
export function pointsFor(
  read: Reading,
  feature: KnownFeature,
  range: Range,
  edges: readonly number[],
): Point[] {
  const bucketed = createBucketed(edges);
  feed(read, feature, range, grainOf(edges), bucketed);
  return bucketed.points();
}

/** Edges divide no piece of this grain. */
function grainOf(edges: readonly number[]): Grain {
  if (edges.every((edge) => edge % DAY_MS === 0)) return "day";
  return edges.every((edge) => edge % HOUR_MS === 0) ? "hour" : "step";
}
