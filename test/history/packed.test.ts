import { expect, test } from "bun:test";
import fc from "fast-check";
import type { Step } from "../../src/domain/history.ts";
import { createRollupSum, mergeRollups, type Rollup, rollupOf } from "../../src/domain/stats/rollup.ts";
import { DAY_MS, HOUR_MS } from "../../src/domain/time/clock.ts";

import {
  packDayRollup,
  readDayRollup,
  samplesOfDay,
  unpackHours,
  withHour,
  withHourRollup,
} from "../../src/history/codec.ts";

const DAY_AT = 20_500 * DAY_MS;

const count = fc.oneof(
  fc.integer({ min: 0, max: 300 }),
  fc.constantFrom(0, 127, 128, 16_383, 16_384, 2 ** 40),
);
const optional = fc.option(count, { nil: null });
const sample = fc.record({
  at: fc.integer({ min: 0, max: DAY_MS - 1 }).map((ms) => DAY_AT + ms),
  total: optional,
  used: optional,
  reserved: optional,
  queued: optional,
  unlimited: fc.boolean(),
});
const samples = fc
  .uniqueArray(sample, { selector: ({ at }) => at, maxLength: 60 })
  .map((list) => list.sort((a, b) => a.at - b.at));

const hourOf = ({ at }: { at: number }) => Math.floor((at - DAY_AT) / HOUR_MS);

test("rejects numbers other than integers from 0 to 2^53 - 1, and truncated bytes", () => {
  const one = { at: DAY_AT, total: null, used: 1, reserved: null, queued: null, unlimited: false };
  for (const queued of [-2, 0.5, Number.NaN, 2 ** 53])
    expect(() => withHour(DAY_AT, null, { hour: 0, samples: [{ ...one, queued }] })).toThrow(RangeError);
  const data = withHour(DAY_AT, null, { hour: 0, samples: [one] });
  expect(() => samplesOfDay(DAY_AT, data.subarray(0, -1))).toThrow(RangeError);
  const rollup = { groups: [], total: null, coveredUntil: null, users: [1, 2], denials: null };
  const day = packDayRollup(DAY_AT, rollup);
  expect(() => readDayRollup(DAY_AT, day.subarray(0, -1), createRollupSum())).toThrow(RangeError);
});

test("a day's samples survive packing in any order of hours, once or again", () => {
  fc.assert(
    fc.property(samples, fc.array(fc.integer({ min: 0, max: 23 })), (list, order) => {
      let data: Uint8Array | null = null;
      const hours = [...new Set([...order, ...list.map(hourOf)]), ...order];
      for (const hour of hours) {
        data = withHour(DAY_AT, data, { hour, samples: list.filter((one) => hourOf(one) === hour) });
      }
      expect(samplesOfDay(DAY_AT, data ?? new Uint8Array())).toEqual(list);
    }),
  );
});

test("a day's rollups survive packing in any order of hours, once or again", () => {
  const users = fc.uniqueArray(fc.integer({ min: 1, max: 2 ** 40 }), { maxLength: 5 });
  const beside = fc.record({
    users: users.map((list) => list.sort((a, b) => a - b)),
    denials: fc.option(fc.nat(), { nil: null }),
  });
  fc.assert(
    fc.property(
      samples,
      fc.array(fc.tuple(fc.integer({ min: 0, max: 23 }), beside), { maxLength: 30 }),
      (list, packed) => {
        // An unlimited feature has no total.
        const steps = list.map((one): Step => (one.unlimited ? { ...one, total: null } : one));
        const series = { steps, end: DAY_AT + DAY_MS };
        const wanted = new Map<number, Rollup>();
        let data: Uint8Array | null = null;
        for (const [hour, rest] of packed) {
          const at = DAY_AT + hour * HOUR_MS;
          const rollup = rollupOf(series, at, at + HOUR_MS, rest);
          data = withHourRollup(DAY_AT, data, { at, rollup });
          if (rollup.groups.length > 0 || rollup.denials !== null) wanted.set(at, rollup);
          else wanted.delete(at);
        }
        const expected = [...wanted].sort((a, b) => a[0] - b[0]).map(([at, rollup]) => ({ at, rollup }));
        expect(unpackHours(DAY_AT, data ?? new Uint8Array())).toEqual(expected);
        const day = mergeRollups(expected.map(({ rollup }) => rollup));
        const sum = createRollupSum();
        readDayRollup(DAY_AT, packDayRollup(DAY_AT, day), sum);
        expect(sum.take()).toEqual(day);
      },
    ),
  );
});

test("a quiet night takes one byte per hour", () => {
  const steps: Step[] = [{ at: DAY_AT, total: 10, used: 2, reserved: 0, queued: 0, unlimited: false }];
  let data: Uint8Array | null = null;
  const sizes: number[] = [];
  for (let hour = 0; hour < 24; hour++) {
    const at = DAY_AT + hour * HOUR_MS;
    const rollup = rollupOf({ steps, end: DAY_AT + DAY_MS }, at, at + HOUR_MS, { users: [7, 9], denials: 0 });
    data = withHourRollup(DAY_AT, data, { at, rollup });
    sizes.push(data?.length ?? 0);
  }
  expect(sizes.at(-1)).toBe((sizes[0] ?? 0) + 23);
});
