import { createBucketed, type Point } from "../../domain/stats/bucketed.ts";
import type { Heatmap } from "../../domain/stats/heatmap.ts";
import { sumsOfRollup } from "../../domain/stats/rollup.ts";
import { eachSpan } from "../../domain/stats/spans.ts";
import type { Range } from "../range.ts";
import type { HistorySource, KnownFeature } from "../source.ts";
import { DAY_MS, HOUR_MS, hourEnd } from "../spans.ts";

type Reading = Pick<HistorySource, "series" | "hours" | "days" | "reach">;

/** What may be taken as one: steps, whole UTC hours, or whole UTC days too. */
export type Grain = "step" | "hour" | "day";

/**
 * Feeds a range, by the largest pieces that its grain allows and steps at the edges. Where no samples are left there
 * are hours alone, whatever the grain.
 */
export async function feed(
  read: Reading,
  feature: KnownFeature,
  { start, end }: Range,
  grain: Grain,
  sink: Pick<Heatmap, "addSpan" | "addSums">,
): Promise<void> {
  if (start >= end) return;
  const width = grain === "day" ? DAY_MS : HOUR_MS;
  const from = Math.ceil(start / width) * width;
  const lastWhole = Math.floor(end / width) * width;
  const { samplesFrom, rollupsFrom } = await read.reach();
  // Steps are taken where there are samples.
  const hoursAlone = (rollupsFrom ?? Infinity) < (samplesFrom ?? 0) ? hourEnd(samplesFrom ?? 0) : 0;
  const until = grain === "step" ? Math.min(lastWhole, hoursAlone) : lastWhole;
  const rest = async (a: number, b: number) => {
    if (grain === "day") await feed(read, feature, { start: a, end: b }, "hour", sink);
    else if (a < b) eachSpan(await read.series(feature, a, b), sink.addSpan);
  };
  if (from >= until) {
    await rest(start, end);
    return;
  }
  await rest(start, from);
  const whole =
    grain === "day" ? await read.days(feature, from, until) : await read.hours(feature, from, until);
  for (const { at, rollup } of whole) sink.addSums(at, sumsOfRollup(rollup));
  await rest(until, end);
}

/** The points of one feature, of one without counts too. `edges` as of `bucketEdges`. */
export async function pointsFor(
  read: Reading,
  feature: KnownFeature | null,
  range: Range,
  edges: readonly number[],
): Promise<Point[]> {
  const bucketed = createBucketed(edges);
  if (feature !== null) await feed(read, feature, range, grainOf(edges), bucketed);
  return bucketed.points();
}

/** Edges divide no piece of this grain. */
function grainOf(edges: readonly number[]): Grain {
  if (edges.every((edge) => edge % DAY_MS === 0)) return "day";
  return edges.every((edge) => edge % HOUR_MS === 0) ? "hour" : "step";
}
