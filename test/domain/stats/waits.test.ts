import { expect, test } from "bun:test";
import fc from "fast-check";
import type { Step } from "../../../src/domain/history.ts";
import { fullTimes, waitsOf } from "../../../src/domain/stats/waits.ts";

const MINUTE = 60_000;
const step = (minute: number, used: number | null, total: number | null = 3): Step => {
  const at = minute * MINUTE;
  return { at, used, total: used === null ? null : total, reserved: 0, queued: 0, unlimited: false };
};

// `from-until`; `…` marks an unknown end.
test.each<[string, Step[], string[]]>([
  ["a seat is given back", [step(0, 3), step(10, 2)], ["0-10"]],
  ["another total", [step(0, 1), step(5, 4), step(7, 5, 5), step(10, 4, 5)], ["5-10"]],
  ["a gap does not end it", [step(0, 3), step(10, null), step(20, 3), step(30, 0)], ["0-30"]],
  ["the reading after the gap shows a free seat", [step(0, 3), step(10, null), step(20, 0)], ["0-20"]],
  ["a long gap ends it", [step(0, 3), step(10, null), step(71, 0)], ["0-10…"]],
  ["a long gap splits it", [step(0, 3), step(10, null), step(71, 3), step(99, 0)], ["0-10…", "71-99"]],
  ["the end of the range is unknown", [step(0, 0), step(40, 3)], ["40-100…"]],
  ["an ongoing gap", [step(0, 3), step(40, null)], ["0-40…"]],
  ["without seats, or without a known total, nothing is full", [step(0, 0, 0), step(10, 3, null)], []],
  ["uncounted seats are never full", [{ ...step(0, 9), unlimited: true }], []],
])("full: %s", (_name, steps, expected) => {
  const told = fullTimes({ steps, start: 0, end: 100 * MINUTE }).map(({ from, until, cut }) => {
    return `${from / MINUTE}-${until / MINUTE}${cut ? "…" : ""}`;
  });
  expect(told).toEqual(expected);
});

const NULLS = { p50Seconds: null, p80Seconds: null, longestSeconds: null, p80Confirmed: null };
const lasting = (minutes: readonly number[]) => minutes.map((minute) => minute * MINUTE);
const times = (count: number, minutes: number) => Array.from({ length: count }, () => minutes);

test.each<[string, number[], object]>([
  ["29 full times give no percentiles", times(29, 10), { count: 29, fullSeconds: 17_400, ...NULLS }],
  // In full periods of ten minutes, half of all moments wait up to five minutes. The p80 is the quantile
  // 0.8 + 2 · √(0.16 / 30) = 0.947; the check of the first 20 periods uses 0.979.
  ["equal ones", times(30, 10), { p50Seconds: 300, p80Seconds: 568, p80Confirmed: 97.89 }],
  // The one long period contains half of all moments.
  ["a long one", [...times(29, 4), 116], { p50Seconds: 232, p80Seconds: 6960, longestSeconds: 6960 }],
  ["the later ones are longer", [...times(20, 10), ...times(10, 20)], { p80Confirmed: 48.94 }],
])("waits: %s", (_name, minutes, expected) => {
  expect(waitsOf(lasting(minutes))).toMatchObject(expected);
});

test("percentiles are over all moments, and the p80 includes a margin", () => {
  const lengths = fc.array(fc.integer({ min: 1, max: 500 }), { minLength: 30, maxLength: 80 });
  fc.assert(
    fc.property(lengths, (list) => {
      const { p50Seconds, p80Seconds, longestSeconds } = waitsOf(lasting(list));
      const within = (wait: number | null) =>
        list.reduce((sum, length) => sum + Math.min(length * 60, wait ?? 0), 0) /
        list.reduce((sum, length) => sum + length * 60, 0);
      expect(within((p50Seconds ?? 0) - 0.51)).toBeLessThanOrEqual(0.5);
      expect(within((p50Seconds ?? 0) + 0.51)).toBeGreaterThanOrEqual(0.5);
      expect(within(p80Seconds)).toBeGreaterThan(0.8);
      expect(p80Seconds).toBeLessThanOrEqual(longestSeconds ?? 0);
    }),
  );
});
