import type { Series } from "../domain/history.ts";
import { addTime, emptySums, type UsageSums } from "../domain/stats/rollup.ts";
import { createCutter, eachSpan, sumOfSeries } from "../domain/stats/spans.ts";
import { fullTimes } from "../domain/stats/waits.ts";
import { DAY_MS } from "../domain/time/clock.ts";
import type { KnownFeature } from "./buckets.ts";
import { packFullTimes } from "./full-times.ts";
import type { HistorySource } from "./reader.ts";

/** Zones keep offsets of whole quarters, so that every hour of every zone is made of these. */
export const QUARTER_MS = 900_000;
const QUARTERS = DAY_MS / QUARTER_MS;
const NUMBERS = 5;

/** The series of each feature. */
async function seriesOf(
  source: Pick<HistorySource, "series" | "checkpoint">,
  features: readonly KnownFeature[],
  start: number,
  end: number,
): Promise<Series[]> {
  const series: Series[] = [];
  for (const feature of features) {
    source.checkpoint();
    series.push(await source.series(feature, start, end));
  }
  return series;
}

/** Features as one, each moment the sum of those that are known then. */
export async function together(
  source: Pick<HistorySource, "series" | "checkpoint">,
  features: readonly KnownFeature[],
  start: number,
  end: number,
): Promise<ReturnType<typeof sumOfSeries>> {
  return sumOfSeries(await seriesOf(source, features, start, end), start, end);
}

/**
 * Of a day (days since 1970-01-01 UTC) what the heat map of all features adds up, by quarters of an hour, and when each
 * feature was full.
 */
export async function makeSiteDay(
  source: Pick<HistorySource, "features" | "series" | "checkpoint">,
  day: number,
): Promise<{ readonly data: Uint8Array; readonly full: Uint8Array }> {
  const edges = Array.from({ length: QUARTERS + 1 }, (_, quarter) => day * DAY_MS + quarter * QUARTER_MS);
  const quarters = edges.slice(1).map(emptySums);
  const { cut } = createCutter(edges);
  const features = await source.features();
  const series = await seriesOf(source, features, day * DAY_MS, (day + 1) * DAY_MS);
  eachSpan(sumOfSeries(series, day * DAY_MS, (day + 1) * DAY_MS), (step, from, to) =>
    cut(from, to, (quarter, at, until) => {
      const sums = quarters[quarter];
      if (sums !== undefined) addTime(sums, step, at, until);
    }),
  );
  const numbers = new Float64Array(QUARTERS * NUMBERS);
  quarters.forEach(({ coveredMs, usedMs, peakUsed, ratedMs, utilizationMs }, quarter) => {
    numbers.set([coveredMs, usedMs, peakUsed ?? 0, ratedMs, utilizationMs], quarter * NUMBERS);
  });
  const times = features.flatMap(({ id }, index) => {
    const own = series[index];
    return own === undefined ? [] : [{ id, times: fullTimes(own) }];
  });
  return { data: new Uint8Array(numbers.buffer), full: packFullTimes(day, times) };
}

/** The sums of each quarter that has known counts. */
export function eachQuarter(
  day: number,
  data: Uint8Array,
  visit: (at: number, sums: Readonly<UsageSums>) => void,
): void {
  if (data.length !== QUARTERS * NUMBERS * 8) throw new RangeError("the sums of a day have another size");
  const numbers = new Float64Array(data.slice().buffer);
  for (let quarter = 0; quarter < QUARTERS; quarter++) {
    const [coveredMs = 0, usedMs = 0, peakUsed = 0, ratedMs = 0, utilizationMs = 0] = numbers.subarray(
      quarter * NUMBERS,
    );
    if (coveredMs === 0) continue;
    const sums = { ...emptySums(), coveredMs, usedMs, peakUsed, ratedMs, utilizationMs };
    visit(day * DAY_MS + quarter * QUARTER_MS, sums);
  }
}
