import { expect, test } from "bun:test";
import fc from "fast-check";
import type { Step } from "../../../src/domain/history.ts";
import type { Rollup } from "../../../src/domain/rollup.ts";
import { mergeRollups, rollupOf } from "../../../src/domain/rollup-sum.ts";
import { createByteReader, createByteWriter } from "../../../src/store/history/bytes.ts";
import {
  packDayRollup,
  unpackDayRollup,
  unpackHours,
  withHourRollup,
} from "../../../src/store/history/rollup-bytes.ts";
import { samplesOfDay, withHour } from "../../../src/store/history/sample-day.ts";
import { DAY_MS, HOUR_MS } from "../../../src/store/history/spans.ts";

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

test("numbers come back as they were, and others are refused", () => {
  fc.assert(
    fc.property(fc.array(fc.maxSafeNat()), fc.array(fc.integer()), (numbers, signed) => {
      const writer = createByteWriter();
      for (const number of numbers) writer.number(number);
      for (const number of signed) writer.signed(number);
      const reader = createByteReader(writer.take());
      expect(numbers.map(() => reader.number())).toEqual(numbers);
      expect(signed.map(() => reader.signed() + 0)).toEqual(signed);
      expect(reader.left).toBe(0);
      expect(() => reader.byte()).toThrow(RangeError);
    }),
  );
  for (const bad of [-1, 0.5, Number.NaN, 2 ** 53]) {
    expect(() => createByteWriter().number(bad)).toThrow(RangeError);
  }
});

test("a day's samples come back as they were, in whatever order its hours were packed, once or again", () => {
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

test("a day's rollups come back as they were, in whatever order its hours were packed, once or again", () => {
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
        expect(unpackDayRollup(DAY_AT, packDayRollup(DAY_AT, day))).toEqual(day);
      },
    ),
  );
});

test("a quiet night costs a byte an hour", () => {
  const steps: Step[] = [{ at: DAY_AT, total: 10, used: 2, reserved: 0, queued: 0, unlimited: false }];
  let data: Uint8Array | null = null;
  const sizes: number[] = [];
  for (let hour = 0; hour < 24; hour++) {
    const at = DAY_AT + hour * HOUR_MS;
    const rollup = rollupOf({ steps, end: DAY_AT + DAY_MS }, at, at + HOUR_MS, { users: [7, 9], denials: 0 });
    data = withHourRollup(DAY_AT, data, { at, rollup });
    sizes.push(data.length);
  }
  expect(sizes.at(-1)).toBe((sizes[0] ?? 0) + 23);
});
