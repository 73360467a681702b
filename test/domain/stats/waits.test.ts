import { expect, test } from "bun:test";
import fc from "fast-check";
import type { Step } from "../../../src/domain/history.ts";
import { fullTimes, type Wait, waitsOf } from "../../../src/domain/stats/waits.ts";

const step = (at: number, used: number | null, total: number | null = 3): Step => {
  return { at, used, total: used === null ? null : total, reserved: 0, queued: 0, unlimited: false };
};

test.each<[string, Step[], [number, number, boolean][]]>([
  ["a seat is given back", [step(0, 3), step(10, 2)], [[0, 10, false]]],
  [
    "more than all seats, and another total",
    [step(0, 1), step(5, 4), step(7, 5, 5), step(10, 4, 5)],
    [[5, 10, false]],
  ],
  [
    "a gap ends it unseen",
    [step(0, 3), step(10, null), step(20, 3), step(30, 0)],
    [
      [0, 10, true],
      [20, 30, false],
    ],
  ],
  ["the end of the range does too", [step(0, 0), step(40, 3)], [[40, 100, true]]],
  ["without seats, or without a known total, nothing is full", [step(0, 0, 0), step(10, 3, null)], []],
  ["uncounted seats are never full", [{ ...step(0, 9), unlimited: true }], []],
])("full: %s", (_name, steps, expected) => {
  const found = fullTimes({ steps, start: 0, end: 100 });
  expect(found.map(({ from, until, cut }) => [from, until, cut])).toEqual(expected as never);
});

const MINUTE = 60_000;
const minutes = (...list: number[]): Wait[] => list.map((m) => ({ ms: Math.abs(m) * MINUTE, cut: m < 0 }));
const times = (count: number, ...list: number[]) => Array.from({ length: count }, () => list).flat();

test.each<[string, Wait[], object]>([
  [
    "29 stretches tell no percentile",
    minutes(...times(29, 10)),
    { count: 29, fullSeconds: 17_400, p80Seconds: null, p80Confirmed: null },
  ],
  // Of any moment of ten minutes: half wait up to five, 8 of 10 up to eight.
  [
    "equal stretches",
    minutes(...times(30, 10)),
    { p50Seconds: 300, p80Seconds: 480, longestSeconds: 600, p80Confirmed: 80 },
  ],
  // 100 of 200 minutes in the long one; the rest are 10 minutes each: S(10) = 90/200, then a minute a minute.
  [
    "one long stretch among short ones",
    minutes(...times(20, 5), ...times(9, 1e-3), 100),
    { p80Seconds: 3600 },
  ],
  ["the later ones are longer", minutes(...times(20, 10), ...times(10, 20)), { p80Confirmed: 40 }],
  ["what was cut counts as longer", minutes(...times(20, 10), ...times(10, -8)), { p80Confirmed: 0 }],
  [
    "where all were cut nothing is known",
    minutes(...times(30, -10)),
    { p50Seconds: null, p80Seconds: null, longestSeconds: 600, p80Confirmed: null },
  ],
  // Half of the moments of each ms are not followed to their end: S falls as the square root of what is left.
  ["half were cut", minutes(...times(15, 10, -10)), { p50Seconds: 450, p80Seconds: 576 }],
])("waits: %s", (_name, stretches, expected) => {
  expect(waitsOf(stretches)).toMatchObject(expected);
});

test("without cuts the percentiles are plain shares of the full time", () => {
  const lengths = fc.array(fc.integer({ min: 1, max: 500 }), { minLength: 30, maxLength: 80 });
  fc.assert(
    fc.property(lengths, (list) => {
      const { p50Seconds, p80Seconds } = waitsOf(list.map((s) => ({ ms: s * 1000, cut: false })));
      const within = (wait: number) => list.reduce((sum, length) => sum + Math.min(length, wait), 0);
      const full = within(Number.POSITIVE_INFINITY);
      for (const [share, wait] of [
        [0.5, p50Seconds],
        [0.8, p80Seconds],
      ] as const) {
        expect(within((wait ?? 0) - 0.51)).toBeLessThanOrEqual(share * full + 1e-6);
        expect(within((wait ?? 0) + 0.51)).toBeGreaterThanOrEqual(share * full - 1e-6);
      }
    }),
  );
});
