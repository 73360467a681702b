import { expect, test } from "bun:test";
import fc from "fast-check";
import { createBacklog, type Waiting } from "../../../src/export/remote-write/writer.ts";

const waiting = (at: number, bytes: number, samples = 1): Waiting => ({
  ...{ at, samples, body: new Uint8Array(bytes) },
});

test("keeps the newest within its bytes and its age, in order, and counts what it threw away", () => {
  const backlog = createBacklog({ maxBytes: 100, maxAgeMs: 1_000 });
  expect(backlog.add(waiting(0, 40, 7), 0)).toBe(0);
  expect(backlog.add(waiting(10, 40, 8), 10)).toBe(0);
  expect(backlog.add(waiting(20, 40, 9), 20)).toBe(7);
  expect([backlog.bytes, backlog.samples, backlog.first()?.at]).toEqual([80, 17, 10]);
  expect(backlog.add(waiting(1_015, 1), 1_015)).toBe(8);
  expect(backlog.first()?.at).toBe(20);
  // What is too large by itself still gets its one chance.
  expect(backlog.add(waiting(1_016, 500, 3), 1_016)).toBe(10);
  expect([backlog.bytes, backlog.samples]).toEqual([500, 3]);
});

test("forgets what was sent, and nothing else when that was thrown away meanwhile", () => {
  const backlog = createBacklog({ maxBytes: 10, maxAgeMs: 1_000 });
  const one = waiting(0, 10);
  backlog.add(one, 0);
  backlog.add(waiting(1, 10), 1);
  backlog.done(one);
  expect(backlog.first()?.at).toBe(1);
  expect(backlog.clear()).toBe(1);
  expect([backlog.first(), backlog.bytes, backlog.samples]).toEqual([null, 0, 0]);
});

test("its sums are those of what is in it, whatever comes and goes", () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.boolean(), fc.integer({ min: 0, max: 60 }), fc.integer({ min: 0, max: 9 }))),
      (steps) => {
        const backlog = createBacklog({ maxBytes: 100, maxAgeMs: 8 });
        let given = 0;
        let gone = 0;
        for (const [at, [takes, bytes, samples]] of steps.entries()) {
          const first = backlog.first();
          if (takes && first !== null) {
            backlog.done(first);
            gone += first.samples;
          } else {
            given += samples;
            gone += backlog.add(waiting(at, bytes, samples), at);
          }
          expect(backlog.samples).toBe(given - gone);
          expect(backlog.bytes).toBeLessThanOrEqual(100);
        }
      },
    ),
  );
});
