import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { localSpans } from "../../../src/domain/stats/calendar.ts";
import { createHeatmap } from "../../../src/domain/stats/heatmap.ts";
import { NO_ROLLUP, sumsOfRollup } from "../../../src/domain/stats/rollup.ts";
import { offsetAt } from "../../../src/domain/time/zone.ts";
import { ZONES } from "./histories.ts";

const FOUR = { total: 4, unlimited: false };

describe("heat map", () => {
  test.each(["UTC", "Asia/Kathmandu", "Australia/Lord_Howe"])(
    "whole UTC hours cover exactly the range that they fill: %s",
    (zone) => {
      // Lord Howe sets its clocks on 2026-10-03 at 15:30Z, by half an hour.
      const [start, end] = [Date.UTC(2026, 8, 30, 10), Date.UTC(2026, 9, 12, 4)];
      const heatmap = createHeatmap(zone, start, end);
      for (let at = start; at < end; at += 3_600_000) {
        const hour = {
          at,
          rollup: { ...NO_ROLLUP, groups: [{ ...FOUR, levels: [[1, 3_600_000] as const] }] },
        };
        heatmap.addSums(hour.at, sumsOfRollup(hour.rollup));
      }
      expect(new Set(heatmap.cells().map(({ coverage }) => coverage))).toEqual(new Set([1]));
    },
  );

  test("has every hour of the week once, from Monday", () => {
    const cells = createHeatmap("UTC", 0, 1).cells();
    expect(cells.length).toBe(168);
    expect(cells.map(({ weekday, hour }) => (weekday - 1) * 24 + hour)).toEqual([...Array(168).keys()]);
    // 1970-01-01 was a Thursday, which begins at cell 72.
    const [some] = createHeatmap("UTC", 0, 1).cells().slice(72);
    expect(some).toMatchObject({ weekday: 4, hour: 0, coverage: 0, averageUsed: null });
  });
});

describe("spans of one offset", () => {
  test("are adjacent, and each keeps its offset to its last millisecond", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...ZONES, "America/Sao_Paulo", "Africa/Casablanca", "Pacific/Apia"),
        fc.integer({ min: Date.UTC(2009, 0, 1), max: Date.UTC(2027, 0, 1) }),
        fc.integer({ min: 1, max: 900 * 86_400_000 }),
        (zone, start, length) => {
          const spans = localSpans(zone, start, start + length);
          expect(spans[0]?.from).toBe(start);
          expect(spans.at(-1)?.to).toBe(start + length);
          spans.forEach(({ from, to, offset }, index) => {
            expect(to).toBeGreaterThan(from);
            expect(offsetAt(zone, from)).toBe(offset);
            expect(offsetAt(zone, to - 1)).toBe(offset);
            const next = spans[index + 1];
            if (next !== undefined) expect([next.from, next.offset === offset]).toEqual([to, false]);
          });
        },
      ),
      { numRuns: 25 },
    );
  });
});
