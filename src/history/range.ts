import { type CountedFeature, featureIdKey } from "../domain/history.ts";
import { createBucketed, type Point } from "../domain/stats/bucketed.ts";
import type { Heatmap } from "../domain/stats/heatmap.ts";
import { coveredMs, NO_ROLLUP, type Rollup, sumsOfRollup } from "../domain/stats/rollup.ts";
import { eachSpan } from "../domain/stats/spans.ts";
import { DAY_MS, HOUR_MS } from "../domain/time/clock.ts";
import type { Named } from "../store/conditions.ts";
import { hourEnd, type KnownFeature } from "./buckets.ts";
import type { HistorySource, Range } from "./reader.ts";

export async function historyBegins(
  source: Pick<HistorySource, "reach">,
  { start, end }: Range,
): Promise<number> {
  const { samplesFrom, rollupsFrom } = await source.reach();
  return Math.min(end, Math.max(start, Math.min(samplesFrom ?? end, rollupsFrom ?? end)));
}

/**
 * Returns the features that match a filter, followed by the `uncounted` ones. If the filter names features,
 * those without known counts in the range are included. `known` is null if no count of the feature was ever
 * read.
 */
export async function featuresOver(
  source: Pick<HistorySource, "features" | "rollups" | "reach">,
  filter: Named,
  range: Range,
  withUsers: boolean,
  uncounted: readonly CountedFeature[] = [],
): Promise<{ feature: CountedFeature; known: KnownFeature | null; rollup: Rollup }[]> {
  const counted = await source.features(filter);
  const begin = await historyBegins(source, range);
  const rollups = begin >= range.end ? [] : await source.rollups(counted, begin, range.end, withUsers);
  const keys = new Set(counted.map(featureIdKey));
  return [...counted, ...uncounted.filter((feature) => !keys.has(featureIdKey(feature)))]
    .map((feature, at) => ({ feature, known: counted[at] ?? null, rollup: rollups[at] ?? NO_ROLLUP }))
    .filter(({ rollup }) => filter.features !== null || coveredMs(rollup) > 0);
}

type Reading = Pick<HistorySource, "series" | "hours" | "days" | "reach">;

/** Largest pieces that may be used: steps, whole UTC hours, or whole UTC days. */
type Grain = "step" | "hour" | "day";

/**
 * Feeds a range with the largest pieces that its grain allows, and steps at the edges. Where samples are
 * deleted, it uses only hours.
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

function grainOf(edges: readonly number[]): Grain {
  if (edges.every((edge) => edge % DAY_MS === 0)) return "day";
  return edges.every((edge) => edge % HOUR_MS === 0) ? "hour" : "step";
}
