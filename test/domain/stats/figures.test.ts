import { describe, expect, test } from "bun:test";
import type { Series } from "../../../src/domain/history.ts";
import { type Figures, figuresOf, percentOf } from "../../../src/domain/stats/figures.ts";
import { rollupOf } from "../../../src/domain/stats/rollup.ts";
import { type Poll, seriesOf } from "./histories.ts";

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

function bySteps(series: Series): Figures {
  const { start, end } = series;
  return figuresOf(rollupOf(series, start, end), end - start, NOBODY);
}

describe("figures of a range", () => {
  test.each<[string, Poll[], Partial<Figures>]>([
    [
      "no polls",
      [],
      { total: null, peakUsed: null, averageUsed: null, p95Used: null, saturatedSeconds: null, coverage: 0 },
    ],
    [
      "a peak of one second counts, and is weighted by its time",
      [
        { at: 0, used: 0, total: 4, unlimited: false },
        { at: 3600, used: 5, total: 4, unlimited: false },
        { at: 3601, used: 0, total: 4, unlimited: false },
      ],
      { peakUsed: 5, p95Used: 0, peakUtilization: 125, saturatedSeconds: 1, averageUsed: 0.0002 },
    ],
    [
      "utilization uses the total of its own time",
      [
        { at: 0, used: 2, total: 2, unlimited: false },
        { at: LENGTH / 2, used: 2, total: 4, unlimited: false },
      ],
      { total: 4, averageUtilization: 75, peakUtilization: 100, saturatedSeconds: LENGTH / 2 },
    ],
    [
      "unlimited seats have no utilization and are never saturated",
      [{ at: 0, used: 7, total: null, unlimited: true }],
      { total: null, peakUsed: 7, averageUtilization: null, peakUtilization: null, saturatedSeconds: 0 },
    ],
    [
      "an unknown total has no saturation",
      [{ at: 0, used: 7, total: null, unlimited: false }],
      { saturatedSeconds: null, averageUtilization: null, usedSeatHours: 42 },
    ],
    [
      "a total of zero has no saturation",
      [{ at: 0, used: 0, total: 0, unlimited: false }],
      { saturatedSeconds: null, averageUtilization: null, total: 0 },
    ],
    [
      "uncovered time is not averaged",
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

test("rounds percentages, but never up to 100", () => {
  const ratios = [0, 0.41176, 0.99994, 0.99997, 1 - 1e-12, 1, 1.5];
  expect(ratios.map(percentOf)).toEqual([0, 41.18, 99.99, 99.99, 100, 100, 150]);
});
