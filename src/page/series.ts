import type { EfficiencyRecord, StatsRecord } from "../domain/history-records.ts";
import type { Unit } from "../domain/words.ts";
import { dateOf, duration, moment, number } from "./format.ts";
import { DAY_MS } from "./range.ts";

/**
 * A period from `at` (epoch ms) to the next bucket. Values are null without data; `total` is also null
 * without a limit.
 */
export type Bucket = Readonly<{ at: number; used: number | null; peak: number | null; total: number | null }>;

/** Data of a chart over [start, end), in epoch ms. The first bucket may begin earlier. */
export interface Series {
  readonly start: number;
  readonly end: number;
  readonly buckets: readonly Bucket[];
  /** Hour of the highest peak if buckets are days; null or absent while unknown. */
  readonly peakHour?: number | null;
}

export interface ChartProps {
  readonly series: Series;
  readonly unit?: Unit;
  /** True if the line is a sum of means instead of a peak. */
  readonly isSum?: boolean;
  readonly lanes?: readonly Lane[];
  readonly fullSeconds?: number | null;
  readonly onZoom?: (start: number, end: number) => void;
}

export interface Lane {
  readonly label: string;
  readonly colour: "full-mark" | "crit-mark";
  readonly marks: readonly number[] | null;
  /** Time since which the marks are known, in epoch ms; absent if they are known for the whole range. */
  readonly since?: number;
  readonly note?: string;
}

/** Converts the series of an answer. `range` has the `start` and `end` of the same answer. */
export function seriesOf(points: StatsRecord["series"], range: { start: string; end: string }): Series {
  const buckets = (points ?? []).map(({ timestamp, used, peakUsed, total }) => ({
    at: Date.parse(timestamp),
    used,
    peak: peakUsed,
    total,
  }));
  return { start: Date.parse(range.start), end: Date.parse(range.end), buckets };
}

/** Returns periods [from, until) in which `is` holds, clipped to the range. */
export function stretches({ start, end, buckets }: Series, is: (bucket: Bucket) => boolean) {
  const found: [from: number, until: number][] = [];
  for (const [index, bucket] of buckets.entries()) {
    const until = Math.min(end, buckets[index + 1]?.at ?? end);
    const from = Math.max(start, bucket.at);
    if (!is(bucket) || from >= until) continue;
    const last = found.at(-1);
    if (last?.[1] === from) last[1] = until;
    else found.push([from, until]);
  }
  return found;
}

export const isGap = ({ used }: Bucket): boolean => used === null;
export const isAtTotal = ({ peak, total }: Bucket): boolean =>
  peak !== null && total !== null && total > 0 && peak >= total;
export const isAllFull = (bucket: Bucket): boolean =>
  isAtTotal(bucket) && (bucket.used ?? 0) >= (bucket.total ?? 0);

export function peakOf({ buckets }: Series): Bucket | null {
  return buckets.reduce<Bucket | null>(
    (best, bucket) => (bucket.peak !== null && bucket.peak > (best?.peak ?? -1) ? bucket : best),
    null,
  );
}

/** Minimum length of a bucket of a day, because days have 23 to 25 hours. */
const LEAST_DAY_MS = (23 / 24) * DAY_MS;

export function isDaily({ buckets: [first, second] }: Series): boolean {
  return first !== undefined && second !== undefined && second.at - first.at >= LEAST_DAY_MS;
}

/**
 * Reports whether a bucket had no free seat at some time. A bucket of a day must be full all the time,
 * because one full hour does not make a full day.
 */
export const wasFull = (series: Series, bucket: Bucket): boolean =>
  isDaily(series) ? isAllFull(bucket) : isAtTotal(bucket);

/** Formats the start of a bucket; a day has no time. */
export const beginInWords = (series: Series, at: number, now: number): string =>
  isDaily(series) ? dateOf(at, now) : moment(at, now);

/** Formats the time of the highest peak: its hour, or its day while the hour is unknown. */
export function peakTime(series: Series, { at }: Bucket, now: number): string {
  if (!isDaily(series)) return `at ${moment(Math.max(series.start, at), now)}`;
  return series.peakHour == null ? `on ${dateOf(at, now)}` : `at ${moment(series.peakHour, now)}`;
}

/** Describes a chart for screen readers. `fullSeconds` is null if unknown or without meaning. */
export function sentenceOf(label: string, series: Series, fullSeconds: number | null, now: number): string {
  const { start, end } = series;
  const peak = peakOf(series);
  const unseen = stretches(series, isGap).reduce((sum, [from, until]) => sum + until - from, 0);
  const parts = [
    peak?.peak == null
      ? "no data"
      : `peak ${number(peak.peak)}${peak.total === null ? "" : ` of ${number(peak.total)}`} ${peakTime(series, peak, now)}`,
    ...(fullSeconds ? [`full for ${duration(1000 * fullSeconds)}`] : []),
    ...(unseen > 0 && peak !== null ? [`no data for ${duration(unseen)}`] : []),
  ];
  return `${label}, ${moment(start, now)} to ${moment(end, now)}: ${parts.join(", ")}.`;
}

export function bucketInWords(series: Series, { at, used, peak, total }: Bucket, now: number): string {
  const of = total === null ? "" : ` of ${number(total)}`;
  const mean = used !== null && used !== peak ? `, ${number(Math.round(10 * used) / 10)} on average` : "";
  return `${beginInWords(series, at, now)}: ${peak === null ? "no data" : `${number(peak)}${of}${mean}`}`;
}

const MOST_LEVELS = 25;

/**
 * Returns for each level, from no seat to all seats, the percentage of the covered time in which `from` to
 * `to` seats were in use. `below` is the percentage with at most `to` seats. `seats` has for each number of
 * seats how long at least that many were in use. A missing number has the value of the next one.
 */
export function levelsOf(
  seats: readonly { readonly seat: number; readonly busyPercent: number }[],
  total: number | null,
) {
  const most = Math.max(total ?? 0, seats.at(-1)?.seat ?? 0);
  const by = Math.ceil((most + 1) / MOST_LEVELS);
  const atLeast = (count: number) =>
    count <= 0 ? 100 : (seats.find(({ seat }) => seat >= count)?.busyPercent ?? 0);
  return Array.from({ length: Math.ceil((most + 1) / by) }, (_, at) => {
    const [from, to] = [at * by, Math.min(most, at * by + by - 1)];
    const above = atLeast(to + 1);
    return {
      from,
      to,
      percent: Math.max(0, atLeast(from) - above),
      below: 100 - above,
      isFull: total !== null && to >= total,
    };
  });
}

/** Returns the result for `2` or `10 %` fewer seats, or for the nearest tried number. */
export function fewerSeats({ total, whatIf }: Pick<EfficiencyRecord, "total" | "whatIf">, fewer: string) {
  if (total === null) return undefined;
  const count = Number.parseInt(fewer, 10) || 1;
  const wanted = fewer.endsWith("%") ? Math.round((total * (100 - count)) / 100) : total - count;
  const less = whatIf.filter((each) => each.total < total);
  if (!fewer.endsWith("%")) return less.find((each) => each.total === wanted);
  return less.sort((a, b) => Math.abs(a.total - wanted) - Math.abs(b.total - wanted))[0];
}

type Covered = Readonly<{ coverage: number }>;

/** Coverage of less than 1 % is shown as 0 %, so it does not count. */
export const isCovered = ({ coverage }: Covered): boolean => coverage >= 0.01;

/** Returns null instead of 0 if nothing is covered. */
export const orUnknown = (value: number | null, of: Covered): number | null =>
  value === 0 && !isCovered(of) ? null : value;

export const meanCoverage = (rows: readonly { readonly coverage: number }[]): number =>
  Math.floor((100 * rows.reduce((sum, { coverage }) => sum + coverage, 0)) / Math.max(1, rows.length));
