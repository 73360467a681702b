import type { EfficiencyRecord, StatsRecord } from "../domain/history-records.ts";
import type { Unit } from "../domain/words.ts";
import { dateOf, duration, moment, number } from "./format.ts";
import { DAY_MS } from "./range.ts";

/** A stretch of time, from `at` (epoch ms) to the next one. Null where nobody looked; a total also where there is none. */
export interface Bucket {
  readonly at: number;
  /** Seats in use, the mean over the time. */
  readonly used: number | null;
  readonly peak: number | null;
  readonly total: number | null;
}

/** What a chart draws: [start, end), epoch ms. The first bucket may begin before. */
export interface Series {
  readonly start: number;
  readonly end: number;
  readonly buckets: readonly Bucket[];
  /** The hour of the highest peak, where buckets are days; null or absent while it is not known. */
  readonly peakHour?: number | null;
}

export interface ChartProps {
  readonly series: Series;
  /** What is in use. */
  readonly unit?: Unit;
  /** The line is a sum of means, not a peak. */
  readonly isSum?: boolean;
  /** Below the seats, on the same time axis. */
  readonly lanes?: readonly Lane[];
  /** For how long no seat was left. */
  readonly fullSeconds?: number | null;
  /** A stretch was chosen with the pointer, epoch ms. */
  readonly onZoom?: (start: number, end: number) => void;
}

/** Moments on the time axis. */
export interface Lane {
  readonly label: string;
  readonly colour: "full-mark" | "crit-mark";
  /** Epoch ms; null = not known. */
  readonly marks: readonly number[] | null;
  /** Since when they are known, epoch ms; absent: all the time. */
  readonly since?: number;
  /** Written at the end of the line. */
  readonly note?: string;
}

/** `range`: `start` and `end` of the same answer. */
export function seriesOf(points: StatsRecord["series"], range: { start: string; end: string }): Series {
  const buckets = (points ?? []).map(({ timestamp, used, peakUsed, total }) => ({
    at: Date.parse(timestamp),
    used,
    peak: peakUsed,
    total,
  }));
  return { start: Date.parse(range.start), end: Date.parse(range.end), buckets };
}

/** Stretches as [from, until) of which `is` holds, each cut to the range. */
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
/** At its peak no seat was left. */
export const isAtTotal = ({ peak, total }: Bucket): boolean =>
  peak !== null && total !== null && total > 0 && peak >= total;
/** No seat was left all the time. */
export const isAllFull = (bucket: Bucket): boolean =>
  isAtTotal(bucket) && (bucket.used ?? 0) >= (bucket.total ?? 0);

/** The first bucket with the highest peak; null when nothing is known. */
export function peakOf({ buckets }: Series): Bucket | null {
  return buckets.reduce<Bucket | null>(
    (best, bucket) => (bucket.peak !== null && bucket.peak > (best?.peak ?? -1) ? bucket : best),
    null,
  );
}

/** Days are 23 to 25 hours long. */
const LEAST_DAY_MS = (23 / 24) * DAY_MS;

export function isDaily({ buckets: [first, second] }: Series): boolean {
  return first !== undefined && second !== undefined && second.at - first.at >= LEAST_DAY_MS;
}

/** No seat was left at some time of the bucket. A day is too long to be marked for one full hour. */
export const wasFull = (series: Series, bucket: Bucket): boolean =>
  isDaily(series) ? isAllFull(bucket) : isAtTotal(bucket);

/** When a bucket begins: a day has no time. */
export const beginInWords = (series: Series, at: number, now: number): string =>
  isDaily(series) ? dateOf(at, now) : moment(at, now);

/** When the highest peak was: its hour, or its day while the hour is not known. */
export function peakTime(series: Series, { at }: Bucket, now: number): string {
  if (!isDaily(series)) return `at ${moment(Math.max(series.start, at), now)}`;
  return series.peakHour == null ? `on ${dateOf(at, now)}` : `at ${moment(series.peakHour, now)}`;
}

/** What a chart shows, for those who do not see it. `fullSeconds`: null where it is not known, or makes no sense. */
export function sentenceOf(label: string, series: Series, fullSeconds: number | null, now: number): string {
  const { start, end } = series;
  const peak = peakOf(series);
  const unseen = stretches(series, isGap).reduce((sum, [from, until]) => sum + until - from, 0);
  const parts = [
    peak?.peak == null
      ? "nobody looked"
      : `peak ${number(peak.peak)}${peak.total === null ? "" : ` of ${number(peak.total)}`} ${peakTime(series, peak, now)}`,
    ...(fullSeconds ? [`full for ${duration(1000 * fullSeconds)}`] : []),
    ...(unseen > 0 && peak !== null ? [`nobody looked for ${duration(unseen)}`] : []),
  ];
  return `${label}, ${moment(start, now)} to ${moment(end, now)}: ${parts.join(", ")}.`;
}

/** A bucket in words. */
export function bucketInWords(series: Series, { at, used, peak, total }: Bucket, now: number): string {
  const of = total === null ? "" : ` of ${number(total)}`;
  const mean = used !== null && used !== peak ? `, ${number(Math.round(10 * used) / 10)} on average` : "";
  return `${beginInWords(series, at, now)}: ${peak === null ? "nobody looked" : `${number(peak)}${of}${mean}`}`;
}

/** How many bars a histogram of seats has at most. */
const MOST_LEVELS = 25;

/**
 * Percent of the covered time in which `from` to `to` seats were in use, from none to all; `below`: in which no more than
 * `to` were. `seats` say for each seat how long at least so many were in use; those left out are as the next one.
 */
export function levelsOf(
  seats: readonly { readonly seat: number; readonly busyPercent: number }[],
  total: number | null,
) {
  const most = Math.max(total ?? 0, seats.at(-1)?.seat ?? 0);
  const by = Math.ceil((most + 1) / MOST_LEVELS);
  /** In which at least so many were in use. */
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

/** What was tried with so many seats fewer (`2`, `10 %`), or with the number nearest to that; undefined when nothing was. */
export function fewerSeats({ total, whatIf }: Pick<EfficiencyRecord, "total" | "whatIf">, fewer: string) {
  if (total === null) return undefined;
  const count = Number.parseInt(fewer, 10) || 1;
  const wanted = fewer.endsWith("%") ? Math.round((total * (100 - count)) / 100) : total - count;
  const less = whatIf.filter((each) => each.total < total);
  if (!fewer.endsWith("%")) return less.find((each) => each.total === wanted);
  return less.sort((a, b) => Math.abs(a.total - wanted) - Math.abs(b.total - wanted))[0];
}

interface Covered {
  readonly coverage: number;
}

/** Less than 1 % is shown as 0 %. */
export const isCovered = ({ coverage }: Covered): boolean => coverage >= 0.01;

/** A figure that may not be known: that nothing was found in 0 % of the time says nothing. */
export const orUnknown = (value: number | null, of: Covered): number | null =>
  value === 0 && !isCovered(of) ? null : value;

/** Percent of the time that is known, of all together. */
export const meanCoverage = (rows: readonly { readonly coverage: number }[]): number =>
  Math.floor((100 * rows.reduce((sum, { coverage }) => sum + coverage, 0)) / Math.max(1, rows.length));
