import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Series } from "../../../src/domain/history.ts";
import {
  autoInterval,
  bucketCount,
  bucketEdges,
  createBucketed,
  INTERVALS,
  type Interval,
} from "../../../src/domain/stats/bucketed.ts";
import { eachSpan, sumOfSeries } from "../../../src/domain/stats/spans.ts";
import { randomPolls, seconds, seriesOf, ZONES } from "./histories.ts";

const HOUR = 3_600_000;

function pointsOf(series: Series, edges: readonly number[]) {
  const bucketed = createBucketed(edges);
  eachSpan(series, bucketed.addSpan);
  return bucketed.points();
}

describe("edges", () => {
  test.each<[string, string, number[]]>([
    ["Europe/Berlin", "2026-03-28", [24, 23, 24]],
    ["Europe/Berlin", "2026-10-24", [24, 25, 24]],
    ["America/New_York", "2026-03-07", [24, 23, 24]],
    ["America/New_York", "2026-10-31", [24, 25, 24]],
    ["Australia/Lord_Howe", "2026-04-04", [24, 24.5, 24]],
    ["Australia/Lord_Howe", "2026-10-03", [24, 23.5, 24]],
    ["Pacific/Apia", "2011-12-29", [24, 24, 24]],
    ["America/Sao_Paulo", "2018-11-03", [24, 23, 24]],
  ])("days of %s from %s last %p hours", (zone, day, hours) => {
    const noon = Date.parse(`${day}T12:00:00Z`);
    const [first = 0] = bucketEdges("1d", noon, noon + 1, zone);
    const edges = bucketEdges("1d", first, first + hours.reduce((a, b) => a + b) * HOUR, zone);
    expect(edges.slice(1).map((edge, index) => (edge - (edges[index] ?? 0)) / HOUR)).toEqual(hours);
  });

  test("cover the range without an extra bucket", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...INTERVALS),
        fc.constantFrom(...ZONES),
        fc.integer({ min: 0, max: 2e12 }),
        fc.integer({ min: 1, max: 40 * 24 * HOUR }),
        (interval, zone, start, length) => {
          const edges = bucketEdges(interval, start, start + length, zone);
          expect(edges[0]).toBeLessThanOrEqual(start);
          expect(edges[1]).toBeGreaterThan(start);
          expect(edges.at(-1)).toBeGreaterThanOrEqual(start + length);
          expect(edges.at(-2)).toBeLessThan(start + length);
          expect(edges.length - 1).toBeLessThanOrEqual(bucketCount(interval, start, start + length));
        },
      ),
      { numRuns: 60 },
    );
  });

  test.each<[number, Interval]>([
    [400 * 300_000, "5m"],
    [400 * 300_000 + 1, "1h"],
    [400 * HOUR, "1h"],
    [400 * HOUR + 1, "1d"],
    [10 * 365 * 24 * HOUR, "1d"],
  ])("auto takes for %p ms %s", (length, interval) => {
    expect(autoInterval(0, length)).toBe(interval);
  });
});

describe("points", () => {
  test("a step that ends at an edge does not touch the next bucket", () => {
    const polls = [
      { at: 0, used: 9, total: 9, unlimited: false },
      { at: 3600, used: null, total: null, unlimited: false },
    ];
    const series = seriesOf(polls, 0, 2 * HOUR);
    expect(pointsOf(series, bucketEdges("1h", 0, 2 * HOUR, "UTC"))).toEqual([
      { at: 0, used: 9, peakUsed: 9, total: 9 },
      { at: HOUR, used: null, peakUsed: null, total: null },
    ]);
  });

  test("spans may come out of order", () => {
    const bucketed = createBucketed(bucketEdges("1h", 0, 4 * HOUR, "UTC"));
    const step = { at: 0, used: 1, total: 2, reserved: 0, queued: 0, unlimited: false };
    bucketed.addSpan(step, 3 * HOUR, 4 * HOUR);
    bucketed.addSpan({ ...step, used: 2 }, HOUR / 2, HOUR + 1);
    expect(bucketed.points().map(({ peakUsed }) => peakUsed)).toEqual([2, 2, null, 1]);
  });
});

test("the sum of several features agrees with a plain loop over every second", () => {
  const length = 3600;
  fc.assert(
    fc.property(fc.array(randomPolls(length, 60), { maxLength: 4 }), (features) => {
      const held = features.map((polls) => seconds(polls, length));
      const wanted = Array.from({ length }, (_, second) => {
        const known = held.flatMap((polls) => polls[second] ?? []);
        const unlimited = known.some((poll) => poll.unlimited);
        const limited = known.length > 0 && !unlimited && known.every((poll) => poll.total !== null);
        const sum = (values: readonly (number | null)[]) => values.reduce<number>((a, b) => a + (b ?? 0), 0);
        return [
          known.length > 0 ? sum(known.map(({ used }) => used)) : null,
          limited ? sum(known.map(({ total }) => total)) : null,
          unlimited,
        ];
      });
      const got: unknown[] = Array.from({ length }, () => [null, null, false]);
      const series = features.map((polls) => seriesOf(polls, 0, length * 1000));
      eachSpan(sumOfSeries(series, 0, length * 1000), (step, from, to) => {
        for (let at = from; at < to; at += 1000) got[at / 1000] = [step.used, step.total, step.unlimited];
      });
      expect(got).toEqual(wanted);
    }),
    { numRuns: 20 },
  );
});
