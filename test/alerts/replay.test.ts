import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { replayFeature, replaySpans } from "../../src/alerts/replay.ts";
import { createSettings } from "../../src/alerts/settings.ts";
import { step, UNWATCHED, type Watch } from "../../src/alerts/watch.ts";
import type { Series, Step } from "../../src/domain/history.ts";
import { MINUTE, override, SETTINGS } from "./rig.ts";

const feature = { server: "eda", daemon: "snpslmd", feature: "compiler" };

/** One poll a minute; null = it failed. Ten seats unless told otherwise. */
function seriesOf(polls: readonly (number | null)[], totals: (index: number) => number = () => 10): Series {
  const steps: Step[] = [];
  polls.forEach((used, index) => {
    const total = used === null ? null : totals(index);
    const last = steps.at(-1);
    if (last !== undefined && last.used === used && last.total === total) return;
    steps.push({
      at: index * MINUTE,
      total,
      used,
      reserved: 0,
      queued: used === null ? null : 0,
      unlimited: false,
    });
  });
  return { feature, start: 0, end: polls.length * MINUTE, steps };
}

const options = (change: Partial<Parameters<typeof replayFeature>[1]> = {}) => ({
  ...{ intervalMs: MINUTE, timeoutMs: MINUTE / 2, inMaintenance: () => false },
  settings: createSettings({ ...SETTINGS, overrides: [] })("eda", "snpslmd", "compiler"),
  ...change,
});

const shown = (polls: readonly (number | null)[], change = {}) =>
  replayFeature(seriesOf(polls), options(change)).map(({ subject, severity, from, until }) => [
    ...[subject.rule, severity, from / MINUTE, until === null ? null : until / MINUTE],
  ]);

test("usage and exhausted seats, with their patience, over steps", () => {
  expect(shown([1, 8, 8, 10, 10, 1, 1, 1, 9])).toEqual([
    ["usage", "critical", 1, 6],
    ["usage", "warning", 8, null],
    ["seats_exhausted", "warning", 3, 6],
  ]);
  expect(shown([8, 1, null, null, 1, 1])).toEqual([["usage", "warning", 0, 4]]);
  expect(shown([10, 10, 10], { inMaintenance: () => true })).toEqual([]);
  expect(shown([1, 9, 9, 9], { inMaintenance: (at: number) => at < 2 * MINUTE })).toEqual([
    ["usage", "warning", 2, null],
  ]);
});

test("totals that changed, over a gap too", () => {
  const series = seriesOf([1, 1, null, 1], (index) => (index < 2 ? 10 : 8));
  expect(replayFeature(series, options()).map(({ subject, from }) => [subject.rule, from / MINUTE])).toEqual([
    ["totals_changed", 3],
  ]);
});

test("totals that were changed back, changed again, and changed a day later", () => {
  const changes = (totals: readonly number[], minutes = 1) => {
    const steps = totals.map((total, index) => ({
      ...{ at: index * minutes * MINUTE, total, used: 1, reserved: 0, queued: 0, unlimited: false },
    }));
    const end = totals.length * minutes * MINUTE;
    return replayFeature({ feature, start: 0, end, steps }, options()).map(({ from, until }) => [
      from / MINUTE,
      until === null ? null : until / MINUTE,
    ]);
  };
  expect(changes([10, 8])).toEqual([[1, null]]);
  expect(changes([10, 8, 10])).toEqual([[1, 2]]);
  expect(changes([10, 8, 6])).toEqual([[1, null]]);
  expect(changes([10, 8, 10, 12])).toEqual([
    [1, 2],
    [3, null],
  ]);
  const day = 24 * 60;
  expect(changes([10, 8, 10], day + 5)).toEqual([
    [day + 5, day + 5 + day],
    [2 * (day + 5), 2 * (day + 5) + day],
  ]);
});

test("is what looking at each poll would have told", () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof(fc.constantFrom(1, 8, 10), fc.constant(null)), { maxLength: 60 }),
      fc.record({ failures: fc.integer({ min: 1, max: 4 }), recoveries: fc.integer({ min: 1, max: 4 }) }),
      fc.integer({ min: 0, max: 4 }),
      (polls, own, minutes) => {
        const forMs = minutes * MINUTE;
        const settings = createSettings({
          ...SETTINGS,
          overrides: [override({ feature: "*", settings: own, forMs })],
        })("eda", "snpslmd", "compiler");
        let watch: Watch = UNWATCHED;
        let last: number | null = null;
        const levels: number[] = [];
        polls.forEach((used, index) => {
          const at = index * MINUTE;
          if (used !== null) {
            const gap = last !== null && at - last > 2.5 * MINUTE;
            watch = step(watch, used === 10 ? 2 : used === 8 ? 1 : 0, at, gap, { ...own, forMs });
            last = at;
          }
          levels.push(watch.level);
        });
        const fired = replayFeature(seriesOf(polls), options({ settings })).filter(
          ({ subject }) => subject.rule === "usage",
        );
        const firing = levels.map((_, index) =>
          fired.some(({ from, until }) => from <= index * MINUTE && index * MINUTE < (until ?? Infinity)),
        );
        expect(firing).toEqual(levels.map((level) => level > 0));
      },
    ),
    { numRuns: 300 },
  );
});

describe("times in which something was down", () => {
  const subject = { rule: "server_down" as const, server: "eda", daemon: null, feature: null, detail: null };
  const spans = (list: readonly [number, number | null][]) =>
    replaySpans(
      subject,
      "critical",
      list.map(([from, until]) => ({ from: from * MINUTE, until: until === null ? null : until * MINUTE })),
      options(),
      100 * MINUTE,
    ).map(({ from, until }) => [from / MINUTE, until === null ? null : until / MINUTE]);

  test("too short ones are none, and those with too little between them are one", () => {
    expect(spans([[0, 2]])).toEqual([]);
    expect(spans([[0, 3]])).toEqual([[2, 4]]);
    expect(
      spans([
        [0, 5],
        [6, 20],
        [40, null],
      ]),
    ).toEqual([
      [2, 21],
      [42, null],
    ]);
  });
});
