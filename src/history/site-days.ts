import type { Series } from "../domain/history.ts";
import { addTime, emptySums, type UsageSums } from "../domain/stats/rollup.ts";
import { createCutter, eachSpan, sumOfSeats } from "../domain/stats/spans.ts";
import { fullTimes } from "../domain/stats/waits.ts";
import { DAY_MS } from "../domain/time/clock.ts";
import { dayOf, type KnownFeature } from "./buckets.ts";
import { ByteReader, putNumber } from "./codec.ts";
import type { HistorySource, Range } from "./reader.ts";

/**
 * Packed sums over all features of a UTC day: first the heat map's sums by 15 minutes, then for each
 * feature the periods in which it was full. A feature is stored as the difference of its id to the previous
 * id, the number of periods, and two numbers for each period: the time since the previous period, and twice
 * its length, plus 1 if the period is cut, e.g. by the end of the day. Numbers are LEB128.
 */

/**
 * Resolution of the heat map. Zone offsets are multiples of 15 minutes, so that every hour of every zone
 * consists of whole quarters.
 */
export const QUARTER_MS = 900_000;
const QUARTERS = DAY_MS / QUARTER_MS;
const NUMBERS = 5;
const SUMS_BYTES = QUARTERS * NUMBERS * 8;
/**
 * Maximum number of feature days that are read at once where days are not packed, because each has hundreds
 * of steps in memory.
 */
const FEATURE_DAYS = 5_000;

export async function seriesOf(
  source: Pick<HistorySource, "series" | "checkpoint">,
  features: readonly KnownFeature[],
  { start, end }: Range,
): Promise<Series[]> {
  const series: Series[] = [];
  for (const feature of features) {
    source.checkpoint();
    series.push(await source.series(feature, start, end));
  }
  return series;
}

export async function makeSiteDay(
  source: Pick<HistorySource, "features" | "series" | "checkpoint">,
  day: number,
): Promise<Uint8Array> {
  const edges = Array.from({ length: QUARTERS + 1 }, (_, quarter) => day * DAY_MS + quarter * QUARTER_MS);
  const quarters = edges.slice(1).map(emptySums);
  const { cut } = createCutter(edges);
  const features = (await source.features()).toSorted((a, b) => a.id - b.id);
  const range = { start: day * DAY_MS, end: (day + 1) * DAY_MS };
  const series = await seriesOf(source, features, range);
  eachSpan(sumOfSeats(series, range.start, range.end), (step, from, to) =>
    cut(from, to, (quarter, at, until) => {
      const sums = quarters[quarter];
      if (sums !== undefined) addTime(sums, step, at, until);
    }),
  );
  const numbers = new Float64Array(QUARTERS * NUMBERS);
  quarters.forEach(({ coveredMs, usedMs, peakUsed, ratedMs, utilizationMs }, quarter) => {
    numbers.set([coveredMs, usedMs, peakUsed ?? 0, ratedMs, utilizationMs], quarter * NUMBERS);
  });
  const bytes: number[] = [];
  let before = 0;
  for (const [index, own] of series.entries()) {
    const times = fullTimes(own);
    const id = features[index]?.id ?? 0;
    if (times.length === 0) continue;
    putNumber(bytes, id - before);
    putNumber(bytes, times.length);
    before = id;
    let at = range.start;
    for (const { from, until, cut } of times) {
      putNumber(bytes, from - at);
      putNumber(bytes, (until - from) * 2 + (cut ? 1 : 0));
      at = until;
    }
  }
  return Buffer.concat([new Uint8Array(numbers.buffer), Uint8Array.from(bytes)]);
}

export function eachQuarter(
  day: number,
  data: Uint8Array,
  visit: (at: number, sums: Readonly<UsageSums>) => void,
): void {
  if (data.length < SUMS_BYTES) throw new RangeError("the sums of a day have the wrong size");
  const numbers = new Float64Array(data.slice(0, SUMS_BYTES).buffer);
  for (let quarter = 0; quarter < QUARTERS; quarter++) {
    const [coveredMs = 0, usedMs = 0, peakUsed = 0, ratedMs = 0, utilizationMs = 0] = numbers.subarray(
      quarter * NUMBERS,
    );
    if (coveredMs === 0) continue;
    const sums = { ...emptySums(), coveredMs, usedMs, peakUsed, ratedMs, utilizationMs };
    visit(day * DAY_MS + quarter * QUARTER_MS, sums);
  }
}

export type VisitFullTime = (from: number, until: number, cut: boolean) => void;

/**
 * Calls a visitor for each period in which a feature was full on a packed day. `of` returns the visitor of
 * a feature id.
 */
export function eachFullTime(
  day: number,
  data: Uint8Array,
  of: (id: number) => VisitFullTime | undefined,
): void {
  const reader = new ByteReader(data, SUMS_BYTES);
  let id = 0;
  while (reader.at < data.length) {
    id += reader.number();
    const visit = of(id);
    let at = day * DAY_MS;
    for (let left = reader.number(); left > 0; left--) {
      const from = at + reader.number();
      const length = reader.number();
      at = from + Math.floor(length / 2);
      visit?.(from, at, length % 2 === 1);
    }
  }
}

/**
 * Splits a range into pieces: each packed day is one piece, and unpacked days in between form pieces that
 * fit in memory.
 */
export function* dayPieces(
  { start, end }: Range,
  made: ReadonlyMap<number, Uint8Array>,
  features: number,
): Generator<Range & { readonly day: number; readonly data: Uint8Array | undefined }> {
  const most = Math.max(1, Math.floor(FEATURE_DAYS / Math.max(1, features)));
  for (let from = start, to = start; from < end; from = to) {
    const day = dayOf(from);
    const data = from % DAY_MS === 0 && from + DAY_MS <= end ? made.get(day) : undefined;
    let behind = day + 1;
    // End pieces at midnight, because samples are stored by day, and two pieces within a day would unpack
    // the day twice.
    while (data === undefined && behind < day + most && !made.has(behind)) behind++;
    to = Math.min(behind * DAY_MS, end);
    yield { start: from, end: to, day, data };
  }
}
