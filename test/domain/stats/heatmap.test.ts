import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { localSpans } from "../../../src/domain/stats/calendar.ts";
import { createHeatmap } from "../../../src/domain/stats/heatmap.ts";
import { NO_ROLLUP, sumsOfRollup } from "../../../src/domain/stats/rollup.ts";
import { eachSpan } from "../../../src/domain/stats/spans.ts";
import { offsetAt } from "../../../src/domain/time/zone.ts";
import { DAYS, type Poll, randomPolls, seconds, seriesOf, wallClock, ZONES } from "./histories.ts";

const LENGTH = 50 * 3600;
const FOUR = { total: 4, unlimited: false };

function plainly(polls: readonly Poll[], start: number, zone: string) {
  const cells = new Map<string, { seconds: number; polls: Poll[] }>();
  let clock = wallClock(zone, start);
  seconds(polls, LENGTH).forEach((poll, second) => {
    // The wall clock's hour changes at quarters alone.
    if ((start / 1000 + second) % 900 === 0) clock = wallClock(zone, start + second * 1000);
    const key = `${clock.weekday} ${clock.hour}`;
    const cell = cells.get(key) ?? { seconds: 0, polls: [] };
    cells.set(key, cell);
    cell.seconds++;
    if (poll !== null) cell.polls.push(poll);
  });
  return (weekday: number, hour: number) => {
    const cell = cells.get(`${weekday} ${hour}`);
    const used = cell?.polls.map((poll) => poll.used ?? 0) ?? [];
    const ratios =
      cell?.polls.flatMap(({ used: n, total, unlimited }) =>
        unlimited || total === null || total === 0 ? [] : [(n ?? 0) / total],
      ) ?? [];
    const mean = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length;
    return {
      averageUsed: used.length > 0 ? mean(used) : null,
      peakUsed: used.length > 0 ? Math.max(...used) : null,
      averageUtilization: ratios.length > 0 ? mean(ratios) * 100 : null,
      coverage: cell === undefined ? 0 : used.length / cell.seconds,
    };
  };
}

describe("heat map", () => {
  test("agrees with plain loops over every second and the wall clock", () => {
    fc.assert(
      fc.property(
        randomPolls(LENGTH, 1200),
        fc.constantFrom(...DAYS),
        fc.integer({ min: -30 * 3600, max: 3600 }),
        fc.constantFrom(...ZONES),
        (polls, day, shift, zone) => {
          const start = day + shift * 1000;
          const heatmap = createHeatmap(zone, start, start + LENGTH * 1000);
          eachSpan(seriesOf(polls, start, start + LENGTH * 1000), heatmap.addSpan);
          const wanted = plainly(polls, start, zone);
          for (const { weekday, hour, ...got } of heatmap.cells()) {
            const plain = wanted(weekday, hour);
            for (const name of ["averageUsed", "peakUsed", "averageUtilization", "coverage"] as const) {
              const value = plain[name];
              if (value === null) expect(got[name]).toBeNull();
              else expect(Math.abs((got[name] ?? Number.NaN) - value)).toBeLessThan(0.0051);
            }
          }
        },
      ),
      { numRuns: 12 },
    );
  });

  test.each(["UTC", "Asia/Kathmandu", "Australia/Lord_Howe"])(
    "hours alone, whole ones of UTC, cover a range that they fill, and no more than that: %s",
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
    // 1970-01-01 was a Thursday.
    const [some] = createHeatmap("UTC", 0, 1).cells().slice(72);
    expect(some).toMatchObject({ weekday: 4, hour: 0, coverage: 0, averageUsed: null });
  });
});

describe("spans of one offset", () => {
  test("meet without holes, and each keeps its offset to its last millisecond", () => {
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
