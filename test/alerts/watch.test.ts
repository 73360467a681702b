import { expect, test } from "bun:test";
import fc from "fast-check";
import { isIdle, type Needs, readWatch, step, UNWATCHED, type Watch } from "../../src/alerts/watch.ts";

const MINUTE = 60_000;
const needs = (change: Partial<Needs> = {}): Needs => ({ failures: 1, recoveries: 1, forMs: 0, ...change });

/** Returns the level after each observation; observations are a minute apart. */
function told(
  looks: readonly number[],
  own: Needs,
  gaps: ReadonlySet<number> = new Set(),
  waits: ReadonlySet<number> = new Set(),
): number[] {
  let watch: Watch = UNWATCHED;
  return looks.map((seen, index) => {
    watch = step(watch, seen, index * MINUTE, gaps.has(index), own, !waits.has(index));
    return watch.level;
  });
}

test.each<[string, readonly number[], Partial<Needs>, readonly number[]]>([
  ["one observation suffices by default", [0, 1, 0], {}, [0, 1, 0]],
  ["rises at once, falls to the worst recent level", [1, 2, 1, 0, 0], { recoveries: 2 }, [1, 2, 2, 1, 0]],
  ["must last, and twice as long to resolve", [1, 1, 0, 0, 0], { forMs: MINUTE }, [0, 1, 1, 1, 0]],
])("%s", (_, looks, change, levels) => {
  expect(told(looks, needs(change))).toEqual([...levels]);
});

test("a condition from a clock that was ahead counts from now on", () => {
  const own = needs({ forMs: 2 * MINUTE });
  let watch = step(UNWATCHED, 1, 500 * 86_400_000, false, own);
  const levels = [0, 1, 2].map((minute) => {
    watch = step(watch, 1, minute * MINUTE, false, own);
    return watch.level;
  });
  expect(levels).toEqual([0, 0, 1]);
});

test("durations begin again after a gap", () => {
  const own = needs({ forMs: 2 * MINUTE });
  expect(told([1, 1, 1, 1, 1], own, new Set([2]))).toEqual([0, 0, 0, 0, 1]);
  // A gap does not end a firing alert, but after the gap the time without the condition starts again.
  expect(told([1, 1, 1, 1], own, new Set([3]))).toEqual([0, 0, 1, 1]);
  const ending = [1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0];
  expect(told(ending, own).indexOf(0, 2)).toBe(7);
  expect(told(ending, own, new Set([5])).indexOf(0, 2)).toBe(9);
});

test("passing time is not an observation but counts for durations", () => {
  // Three failures are required; passing time does not count.
  expect(told([1, 1, 1, 1, 1], needs({ failures: 3 }), new Set(), new Set([1, 2]))).toEqual([0, 0, 0, 0, 1]);
  expect(told([1, 0, 0, 0, 0], needs({ recoveries: 2 }), new Set(), new Set([2, 3]))).toEqual([
    1, 1, 1, 1, 0,
  ]);
  expect(told([1, 1, 1], needs({ forMs: 2 * MINUTE }), new Set(), new Set([1, 2]))).toEqual([0, 0, 1]);
});

/** Computes the levels with plain loops over the whole history. */
function plainly(looks: readonly number[], { failures, recoveries, forMs }: Needs): number[] {
  const levels: number[] = [];
  for (let now = 0; now < looks.length; now++) {
    const before = levels[now - 1] ?? 0;
    let level = before;
    const long = (wanted: number) => now - looks.findLastIndex((look, at) => at <= now && look < wanted);
    for (let wanted = 1; wanted <= Math.max(...looks); wanted++) {
      const isDue = before > 0 || (long(1) - 1) * MINUTE >= forMs;
      if (isDue && long(wanted) >= failures && wanted > level) level = wanted;
    }
    if (level === before && now + 1 >= recoveries) {
      const enough = Math.max(recoveries, (2 * forMs) / MINUTE + 1);
      if (now + 1 >= enough) level = Math.min(level, Math.max(...looks.slice(now + 1 - enough, now + 1)));
    }
    levels.push(level);
  }
  return levels;
}

const anyNeeds = fc.record({
  failures: fc.integer({ min: 1, max: 4 }),
  recoveries: fc.integer({ min: 1, max: 4 }),
  forMs: fc.integer({ min: 0, max: 4 }).map((minutes) => minutes * MINUTE),
});

test("agrees with plain loops over the whole history", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 40 }), anyNeeds, (looks, own) => {
      expect(told(looks, own)).toEqual(plainly(looks, own));
    }),
    { numRuns: 500 },
  );
});

test("storing and reading a watch between observations changes nothing, and its size is bounded", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 30 }), anyNeeds, (looks, own) => {
      let watch: Watch = UNWATCHED;
      const levels = looks.map((seen, index) => {
        const next = step(watch, seen, index * MINUTE, false, own);
        // The store keeps no idle watches.
        watch = isIdle(next) ? UNWATCHED : (readWatch(JSON.stringify(next)) ?? UNWATCHED);
        expect(watch.runs.length).toBeLessThanOrEqual(3);
        return next.level;
      });
      expect(levels).toEqual(told(looks, own));
    }),
    { numRuns: 300 },
  );
});

test("readWatch returns null for other texts", () => {
  for (const text of ["", "{}", "null", "[]", '{"level":"x","runs":[]}']) expect(readWatch(text)).toBeNull();
});
