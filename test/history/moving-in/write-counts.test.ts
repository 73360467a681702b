import { expect, test } from "bun:test";
import fc from "fast-check";
import { createSeriesDays } from "../../../src/history/moving-in/write-counts.ts";

const INTERVAL = 60_000;
/** Start of the counts, near the end of a day. */
const BASE = Date.UTC(2026, 0, 2) - 20 * INTERVAL;
const minutes = fc.uniqueArray(fc.nat(60), { maxLength: 30 }).map((list) => list.sort((a, b) => a - b));
const at = (minute: number) => BASE + minute * INTERVAL;

test("a count holds until the next one, skips times already read, and opens each day", () => {
  fc.assert(
    fc.property(minutes, minutes, (times, edges) => {
      const covered = edges.flatMap((from, index) =>
        index % 2 === 1 ? [{ from: at(edges[index - 1] ?? 0), until: at(from) }] : [],
      );
      const isCovered = (time: number) => covered.some(({ from, until }) => from <= time && time < until);
      const series = createSeriesDays(covered, INTERVAL);
      for (const minute of times) {
        const counts = { used: minute % 3, total: null };
        expect(series.take(at(minute), counts)).toBe(!isCovered(at(minute)));
        expect(series.take(at(minute), counts)).toBe(false);
      }
      series.end(at((times.at(-1) ?? 0) + 1));
      const samples = [...series.days.values()].flat();
      expect(samples.filter((one) => isCovered(one.at))).toEqual([]);
      for (let minute = 0; minute < 62; minute++) {
        if (isCovered(at(minute))) continue;
        const last = times.findLast((time) => time <= minute);
        const next = times.find((time) => time > minute);
        // A count holds until the next one if they are at most two intervals apart.
        const holds = last !== undefined && (last === minute || (next !== undefined && next - last <= 2));
        // A sample holds only within the coverage in which it was taken.
        const begin = Math.max(
          0,
          ...covered.map(({ until }) => until).filter((until) => until <= at(minute)),
        );
        const held = samples.findLast((one) => one.at <= at(minute) && one.at >= begin);
        expect(held?.used ?? null).toBe(holds ? last % 3 : null);
        const isRead = series.read.some(({ from, until }) => from <= at(minute) && at(minute) < until);
        expect(isRead).toBe(holds);
        const day = samples.filter((one) => one.at === Date.UTC(2026, 0, 2));
        if (at(minute) === Date.UTC(2026, 0, 2) && holds) expect(day).toHaveLength(1);
      }
    }),
  );
});
