import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { createIds } from "../../src/live/bus.ts";

const T = Date.parse("2026-03-02T12:00:00.000Z");

/** Ids with a clock that shows the given instants, and the reserved ids. */
function rig(instants: readonly number[], start = 0) {
  let at = 0;
  const reserved: number[] = [];
  const ahead: number[] = [];
  const ids = createIds({
    clock: { now: () => instants[Math.min(at++, instants.length - 1)] ?? T },
    start,
    reserve: (highest) => reserved.push(highest),
    onAhead: (ms) => ahead.push(ms),
  });
  return { ids, reserved, ahead, take: (n: number) => Array.from({ length: n }, () => ids.next()) };
}

describe("event ids", () => {
  test("are the clock's milliseconds while it advances", () => {
    expect(rig([T, T + 5, T + 9]).take(3)).toEqual([T, T + 5, T + 9].map((id) => ({ id, timestamp: id })));
  });

  test("continue when the clock jumps back, report it once, and have the clock's time", () => {
    const { take, ahead } = rig([T, T - 60_000, T - 59_999]);
    expect(take(3)).toEqual([
      { id: T, timestamp: T },
      { id: T + 1, timestamp: T - 60_000 },
      { id: T + 2, timestamp: T - 59_999 },
    ]);
    expect(ahead).toEqual([60_001]);
  });

  test("stay unique if the report is an event itself", () => {
    const inner: number[] = [];
    const ids = createIds({
      clock: { now: () => T - 60_000 },
      start: T,
      reserve: () => {},
      onAhead: () => void inner.push(ids.next().id),
    });
    expect([ids.next().id, ...inner, ids.next().id]).toEqual([T + 1, T + 2, T + 3]);
  });

  test("strictly increase and are reserved before use, across clock changes and restarts", () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(fc.integer({ min: T - 5_000, max: T + 5_000 }), { minLength: 1 }), {
          maxLength: 5,
        }),
        (lives) => {
          let start = 0;
          let last = 0;
          for (const clock of lives) {
            const { take, reserved } = rig(clock, start);
            for (const { id } of take(clock.length)) {
              expect(id).toBeGreaterThan(last);
              last = id;
            }
            start = reserved.at(-1) ?? start;
            expect(start).toBeGreaterThanOrEqual(last);
          }
        },
      ),
    );
  });
});
