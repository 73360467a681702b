import { expect, test } from "bun:test";
import fc from "fast-check";
import type { Step } from "../../../src/domain/history.ts";
import { createUnion, laidUnder, type Stretch } from "../../../src/history/moving-in/count-writer.ts";
import { gapAt } from "../../../src/history/sample-reader.ts";

const END = 200;
const used = fc.option(fc.nat(9));
const steps = fc
  .uniqueArray(fc.record({ at: fc.integer({ min: 1, max: END - 1 }), used }), { selector: ({ at }) => at })
  .map((list): Step[] => [
    gapAt(0),
    ...list.map((one) => ({ ...gapAt(0), ...one })).sort((a, b) => a.at - b.at),
  ]);
const stretches = fc.uniqueArray(fc.nat(END), { maxLength: 30 }).map((edges) => {
  const sorted = edges.sort((a, b) => a - b);
  return sorted.slice(1).flatMap((until, index): Stretch[] => {
    const from = sorted[index] ?? 0;
    return from % 3 === 0 ? [] : [{ from, until, used: from % 7, total: 7, isReading: true }];
  });
});
const valueAt = (list: readonly Step[], at: number) => list.findLast((one) => one.at <= at)?.used ?? null;

test("what was known stays, stretches hold where nothing was, and a second time nothing is added", () => {
  fc.assert(
    fc.property(steps, stretches, (before, own) => {
      const { steps: after, added, known } = laidUnder(before, own, new Set(), END);
      for (let at = 0; at < END; at++) {
        const within = own.find(({ from, until }) => from <= at && at < until);
        expect(valueAt(after, at)).toBe(valueAt(before, at) ?? within?.used ?? null);
      }
      expect(added + known).toBe(own.filter(({ from }) => from < END).length);
      const again = laidUnder(after, own, new Set(), END);
      expect(again).toMatchObject({ added: 0, steps: after });
    }),
  );
});

test("a union has every moment of what was added, in intervals that do not touch", () => {
  const interval = fc
    .tuple(fc.nat(80), fc.integer({ min: 1, max: 9 }))
    .map(([from, ms]) => [from, from + ms] as const);
  fc.assert(
    fc.property(fc.array(interval), (added) => {
      const union = createUnion();
      for (const [from, until] of added) union.add(from, until);
      for (let at = 0; at < 90; at++) {
        const is = (list: readonly (readonly [number, number])[]) =>
          list.some(([from, until]) => from <= at && at < until);
        expect(is(union.intervals.map(({ from, until }) => [from, until]))).toBe(is(added));
      }
      const gaps = union.intervals
        .slice(1)
        .map(({ from }, index) => from - (union.intervals[index]?.until ?? 0));
      expect(gaps.every((gap) => gap > 0)).toBe(true);
    }),
  );
});
