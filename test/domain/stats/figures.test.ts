import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Series } from "../../../src/domain/history.ts";
import { type Figures, figuresOf, percentOf } from "../../../src/domain/stats/figures.ts";
import { mergeRollups, type Rollup, rollupOf } from "../../../src/domain/stats/rollup.ts";
import { type Poll, randomPolls, seconds, seriesOf } from "./histories.ts";

const START = Date.UTC(2026, 0, 1);
const LENGTH = 6 * 3600;
const END = START + LENGTH * 1000;
const NOBODY = {
  uniqueUsers: null,
  sessions: null,
  heldSeatHours: null,
  denials: null,
  queuedRequests: null,
};

/** Plain loops over every second. */
function plainly(polls: readonly Poll[]): Figures {
  const held = seconds(polls, LENGTH);
  const known = held.filter((poll) => poll !== null);
  const used = known.map((poll) => poll.used ?? 0);
  const rated = known.filter((poll) => !poll.unlimited && poll.total !== null && poll.total > 0);
  const ratios = rated.map((poll) => (poll.used ?? 0) / (poll.total ?? 1));
  const judged = rated.length + known.filter((poll) => poll.unlimited).length;
  const sum = (values: readonly number[]) => values.reduce((a, b) => a + b, 0);
  const round = (value: number, by: number) => Math.round(value * by) / by;
  const percent = (ratio: number) =>
    Math.min(Math.round(ratio * 10_000) / 100, ratio < 1 ? 99.99 : ratio * 100);
  const some = used.length > 0;
  return {
    total: known.at(-1)?.total ?? null,
    peakUsed: some ? Math.max(...used) : null,
    averageUsed: some ? round(sum(used) / used.length, 10_000) : null,
    p95Used: used.toSorted((a, b) => a - b)[Math.ceil(0.95 * used.length) - 1] ?? null,
    peakUtilization: ratios.length > 0 ? percent(Math.max(...ratios)) : null,
    averageUtilization: ratios.length > 0 ? percent(sum(ratios) / ratios.length) : null,
    ...NOBODY,
    usedSeatHours: some ? round(sum(used) / 3600, 10_000) : null,
    saturatedSeconds:
      judged > 0 ? rated.filter((poll) => (poll.used ?? 0) >= (poll.total ?? 1)).length : null,
    coverage: round(known.length / LENGTH, 1_000_000),
  };
}

function bySteps(series: Series): Figures {
  const { start, end } = series;
  return figuresOf(rollupOf(series, start, end), end - start, NOBODY);
}

function byRollups(series: Series): Figures {
  const rollups: Rollup[] = [];
  for (let at = series.start; at < series.end; at += 3_600_000)
    rollups.push(rollupOf(series, at, at + 3_600_000));
  return figuresOf(mergeRollups(rollups), series.end - series.start, NOBODY);
}

/** Sums of floats may differ in the last written decimal. */
function expectClose(got: Figures, wanted: Figures): void {
  for (const [name, value] of Object.entries(wanted)) {
    const other: unknown = got[name as keyof Figures];
    if (typeof value === "number" && typeof other === "number")
      expect(Math.abs(other - value), `${name}: ${other} for ${value}`).toBeLessThanOrEqual(0.010_001);
    else expect({ [name]: other }).toEqual({ [name]: value });
  }
}

describe("figures of a range", () => {
  test("agree with plain loops over every second, by steps and by hourly rollups", () => {
    fc.assert(
      fc.property(randomPolls(LENGTH, 60), (polls) => {
        const series = seriesOf(polls, START, END);
        const wanted = plainly(polls);
        expectClose(bySteps(series), wanted);
        expectClose(byRollups(series), wanted);
      }),
      { numRuns: 60 },
    );
  });

  test.each<[string, Poll[], Partial<Figures>]>([
    [
      "nobody looked",
      [],
      { total: null, peakUsed: null, averageUsed: null, p95Used: null, saturatedSeconds: null, coverage: 0 },
    ],
    [
      "a peak of one second counts, in the average by its time",
      [
        { at: 0, used: 0, total: 4, unlimited: false },
        { at: 3600, used: 5, total: 4, unlimited: false },
        { at: 3601, used: 0, total: 4, unlimited: false },
      ],
      { peakUsed: 5, p95Used: 0, peakUtilization: 125, saturatedSeconds: 1, averageUsed: 0.0002 },
    ],
    [
      "utilization goes by the total of its own time",
      [
        { at: 0, used: 2, total: 2, unlimited: false },
        { at: LENGTH / 2, used: 2, total: 4, unlimited: false },
      ],
      { total: 4, averageUtilization: 75, peakUtilization: 100, saturatedSeconds: LENGTH / 2 },
    ],
    [
      "unlimited seats have no utilization and are never all taken",
      [{ at: 0, used: 7, total: null, unlimited: true }],
      { total: null, peakUsed: 7, averageUtilization: null, peakUtilization: null, saturatedSeconds: 0 },
    ],
    [
      "an unknown total says nothing of seats left",
      [{ at: 0, used: 7, total: null, unlimited: false }],
      { saturatedSeconds: null, averageUtilization: null, usedSeatHours: 42 },
    ],
    [
      "no seats issued are not all taken",
      [{ at: 0, used: 0, total: 0, unlimited: false }],
      { saturatedSeconds: null, averageUtilization: null, total: 0 },
    ],
    [
      "what is not covered is not averaged",
      [
        { at: 0, used: 3, total: 4, unlimited: false },
        { at: LENGTH / 4, used: null, total: null, unlimited: false },
      ],
      { averageUsed: 3, coverage: 0.25, usedSeatHours: 4.5, total: 4 },
    ],
  ])("%s", (_, polls, wanted) => {
    expect(bySteps(seriesOf(polls, START, END))).toMatchObject(wanted);
  });
});

test("rounds a percentage, but never up to 100", () => {
  const ratios = [0, 0.41176, 0.99994, 0.99997, 1 - 1e-12, 1, 1.5];
  expect(ratios.map(percentOf)).toEqual([0, 41.18, 99.99, 99.99, 100, 100, 150]);
});
