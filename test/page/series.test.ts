import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { efficiencyOf } from "../../src/domain/stats/efficiency.ts";
import {
  type Bucket,
  bucketInWords,
  isAllFull,
  isGap,
  levelsOf,
  orUnknown,
  peakOf,
  type Series,
  sentenceOf,
  seriesOf,
  stretches,
  wasFull,
} from "../../src/page/series.ts";

const HOUR = 3_600_000;
const START = new Date(2026, 10, 18, 10).getTime();
const bucket = (hours: number, peak: number | null, used = peak, total: number | null = 12): Bucket => ({
  at: START + hours * HOUR,
  used,
  peak,
  total,
});
const series = (...buckets: Bucket[]): Series => ({ start: START, end: START + 24 * HOUR, buckets });
const day = series(
  ...[bucket(-0.5, 3), bucket(2, 12, 11), bucket(4, 12), bucket(5, null), bucket(7, null), bucket(8, 0)],
);

describe("a chart's series", () => {
  test("has periods, clipped to the range: gaps, and those that were always full", () => {
    const hours = (is: (bucket: Bucket) => boolean) =>
      stretches(day, is).map((edges) => edges.map((at) => (at - START) / HOUR));
    expect(hours(isGap)).toEqual([[5, 8]]);
    expect(hours(isAllFull)).toEqual([[4, 5]]);
    expect(hours(() => true)).toEqual([[0, 24]]);
    expect(peakOf(day)?.at).toBe(START + 2 * HOUR);
  });

  test.each<[Series, number | null, string]>([
    [day, 7800, "peak 12 of 12 at 12:00, full for 2 h 10 min, no data for 3 h"],
    [series(bucket(0, 3, 3, null)), null, "peak 3 at 10:00"],
    [series(bucket(0, null)), 0, "no data"],
    [series(), null, "no data"],
  ])("is described in one sentence %#", (of, fullSeconds, ends) => {
    const words = sentenceOf("Seats in use", of, fullSeconds, START + 12 * HOUR);
    expect(words).toStartWith("Seats in use, 10:00 to ");
    expect(words).toEndWith(`: ${ends}.`);
  });

  test("of days has a peak at its hour; one full hour does not mark a day", () => {
    const days = series(bucket(0, 5), bucket(24, 12, 4), bucket(48, 12), bucket(72, 3));
    const at = START + 34 * HOUR;
    const now = START + 90 * 24 * HOUR;
    expect(sentenceOf("Seats", days, null, now)).toEndWith(": peak 12 of 12 on 19 Nov 2026.");
    expect(sentenceOf("Seats", { ...days, peakHour: at }, null, now)).toEndWith(
      ": peak 12 of 12 at 19 Nov 2026, 20:00.",
    );
    expect(bucketInWords(days, bucket(24, 12, 4), START)).toBe("19 Nov: 12 of 12, 4 on average");
    expect(days.buckets.map((each) => wasFull(days, each))).toEqual([false, false, true, false]);
    const hours = series(bucket(0, 5), bucket(1, 12, 4));
    expect(hours.buckets.map((each) => wasFull(hours, each))).toEqual([false, true]);
  });

  test("comes from an answer of the API, null included", () => {
    const points = [{ timestamp: "2026-11-18T10:00:00.000Z", used: null, peakUsed: null, total: 4 }];
    const range = { start: "2026-11-18T10:02:00.000Z", end: "2026-11-18T11:00:00.000Z" };
    const at = Date.parse("2026-11-18T10:00:00.000Z");
    expect(seriesOf(points, range).buckets).toEqual([{ at, used: null, peak: null, total: 4 }]);
    expect(seriesOf(undefined, range).buckets).toEqual([]);
  });
});

test("without coverage 0 is unknown", () => {
  const shown = [0, 0.0001, 0.00999, 0.01, 1].map((coverage) => orUnknown(0, { coverage }));
  expect(shown).toEqual([null, null, null, 0, 0]);
  expect([orUnknown(3, { coverage: 0.0001 }), orUnknown(null, { coverage: 1 })]).toEqual([3, null]);
});

test("a histogram takes unlisted seats as the next listed one", () => {
  // 25,000 seats were always in use. Above 1,000 seats, the API lists only some of them.
  const { seats } = efficiencyOf(new Map([[25_000, 1]]), 1_000_003, null, null);
  expect(seats.map(({ seat, busyPercent }) => [seat, busyPercent])).toEqual([
    [1, 100],
    [25_000, 100],
    [1_000_003, 0],
  ]);
  const [first, ...others] = levelsOf(seats, 1_000_003);
  expect(first).toMatchObject({ from: 0, to: 40_000, percent: 100, below: 100 });
  expect(others.every(({ percent }) => percent === 0)).toBe(true);
});

test("a histogram's levels follow from the share of each seat and add up to 100 %", () => {
  const seats = [75, 50, 10].map((busyPercent, at) => ({ seat: at + 1, busyPercent }));
  expect(levelsOf(seats, 3).map(({ percent, isFull }) => [percent, isFull])).toEqual([
    [25, false],
    [25, false],
    [40, false],
    [10, true],
  ]);
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 100 }), { maxLength: 300 }), (shares) => {
      const falling = shares.sort((a, b) => b - a).map((busyPercent, at) => ({ seat: at + 1, busyPercent }));
      const levels = levelsOf(falling, falling.length);
      expect(levels.length).toBeLessThanOrEqual(25);
      expect(levels.reduce((sum, { percent }) => sum + percent, 0)).toBeCloseTo(100);
    }),
  );
});
