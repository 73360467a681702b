import { isSeats } from "../../domain/polls/seat-groups.ts";
import { localSpans } from "../../domain/stats/calendar.ts";
import { createHeatmap } from "../../domain/stats/heatmap.ts";
import { eachSpan, sumOfSeats } from "../../domain/stats/spans.ts";
import { DAY_MS, HOUR_MS } from "../../domain/time/clock.ts";
import type { Named } from "../../store/conditions.ts";
import { dayOf } from "../buckets.ts";
import { feed } from "../range.ts";
import { type HistorySource, type Range, resolveRange } from "../reader.ts";
import { dayPieces, eachQuarter, QUARTER_MS, seriesOf } from "../site-days.ts";

export interface HeatmapQuery extends Range {
  readonly filter: Named;
  readonly timezone: string;
}

/**
 * Returns use by hour and weekday. Several features are added up: at any moment, the result is the sum of
 * the features that are known then. This requires steps, so where samples are deleted, several features
 * have no coverage. `features` is the number of features added up: those that count seats, or a single
 * feature with any unit.
 */
export async function heatmapQuery(source: HistorySource, query: HeatmapQuery) {
  const range = resolveRange(query, await source.reach());
  const { start, end } = range;
  const found = await source.features(query.filter);
  const features = found.length === 1 ? found : found.filter(isSeats);
  const heatmap = createHeatmap(query.timezone, start, end);
  const [only] = features;
  const spans = localSpans(query.timezone, start, end);
  if (features.length === 1 && only !== undefined) {
    const byHours = spans.every(({ offset }) => offset % HOUR_MS === 0);
    await feed(source, only, range, byHours ? "hour" : "step", heatmap);
  } else {
    const isEverything = Object.values(query.filter).every((names) => names === null);
    const made: ReadonlyMap<number, Uint8Array> =
      isEverything && spans.every(({ offset }) => offset % QUARTER_MS === 0)
        ? await source.siteDays(Math.ceil(start / DAY_MS), dayOf(end))
        : new Map();
    for (const { day, data, ...piece } of dayPieces(range, made, features.length)) {
      if (data !== undefined) eachQuarter(day, data, (at, sums) => heatmap.addSums(at, sums, QUARTER_MS));
      else {
        const series = await seriesOf(source, features, piece);
        eachSpan(sumOfSeats(series, piece.start, piece.end), heatmap.addSpan);
      }
    }
  }
  const unit = only?.unit ?? "seats";
  return { ...range, features: features.length, unit, cells: heatmap.cells() };
}
