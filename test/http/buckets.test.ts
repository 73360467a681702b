import { heapStats } from "bun:jsc";
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { createBuckets, draw, fullBucket, MAX_BUCKETS, type Rate } from "../../src/http/limits.ts";

const rates = fc.record({
  capacity: fc.integer({ min: 1, max: 50 }),
  perMinute: fc.oneof(fc.integer({ min: 1, max: 5000 }), fc.constantFrom(1, 60, 600, 1_000_000)),
});
/** Clock steps in ms between draws: mostly forward, sometimes zero, sometimes backward. */
const steps = fc.array(
  fc.oneof(
    fc.integer({ min: 0, max: 2000 }),
    fc.constant(0),
    fc.integer({ min: -5_000_000, max: 90_000_000 }),
  ),
  { minLength: 1, maxLength: 200 },
);

/** Draws once after each step. Returns each result, and the sum of the forward steps so far. */
function drive(rate: Rate, moves: readonly number[]) {
  let now = 1_772_366_400_000;
  let forward = 0;
  const bucket = fullBucket(rate, now);
  const draws = moves.map((ms) => {
    now += ms;
    forward += Math.max(0, ms);
    return { ...draw(bucket, rate, now), forward };
  });
  return { draws, bucket, now };
}

describe("a token bucket", () => {
  test("allows at most capacity + rate × time in any span, whatever the clock does", () => {
    fc.assert(
      fc.property(rates, steps, (rate, moves) => {
        const { draws } = drive(rate, moves);
        // Checks every span at once: the allowed requests must not exceed rate × time by more than the capacity. All values
        // are multiplied by 60,000, which avoids rounding.
        let lowest = 0;
        let allowed = 0;
        for (const { allowed: was, forward } of draws) {
          const given = forward * rate.perMinute;
          lowest = Math.min(lowest, allowed - given);
          if (was) allowed += 60_000;
          expect(allowed - given - lowest).toBeLessThanOrEqual(rate.capacity * 60_000);
        }
      }),
    );
  });

  test("refuses nothing that capacity and rate allow", () => {
    fc.assert(
      fc.property(rates, fc.array(fc.integer({ min: 0, max: 3000 }), { maxLength: 200 }), (rate, moves) => {
        // Level of the bucket in requests × 60,000, so that the model is exact too.
        let level = rate.capacity * 60_000;
        drive(rate, moves).draws.forEach(({ allowed }, index) => {
          level = Math.min(rate.capacity * 60_000, level + (moves[index] ?? 0) * rate.perMinute);
          expect(allowed).toBe(level >= 60_000);
          if (allowed) level -= 60_000;
        });
      }),
    );
  });

  test("reports exactly what it holds: that many are allowed at once, and no more", () => {
    fc.assert(
      fc.property(rates, steps, (rate, moves) => {
        const { bucket, now } = drive(rate, moves);
        const { remaining } = draw(bucket, rate, now);
        for (let n = 0; n < remaining; n++) expect(draw(bucket, rate, now).allowed).toBe(true);
        expect(draw(bucket, rate, now)).toMatchObject({ allowed: false, remaining: 0 });
      }),
    );
  });

  test("keeps the times of Retry-After and Reset, and reports the earliest ones", () => {
    fc.assert(
      fc.property(rates, steps, (rate, moves) => {
        const { bucket, now } = drive(rate, moves);
        let last = draw(bucket, rate, now);
        while (last.allowed) last = draw(bucket, rate, now);
        const { retryAfterSeconds, resetSeconds } = last;
        expect(retryAfterSeconds).toBeGreaterThanOrEqual(1);
        if (retryAfterSeconds > 1) {
          const early = { ...bucket };
          expect(draw(early, rate, now + (retryAfterSeconds - 1) * 1000).allowed).toBe(false);
        }
        expect(draw({ ...bucket }, rate, now + retryAfterSeconds * 1000).allowed).toBe(true);
        expect(draw({ ...bucket }, rate, now + resetSeconds * 1000).remaining).toBe(rate.capacity - 1);
      }),
    );
  });

  test("emptied before the clock went back by a year waits a second, not a year", () => {
    const rate = { capacity: 3, perMinute: 60 };
    const now = 1_772_366_400_000;
    const bucket = fullBucket(rate, now);
    for (let n = 0; n < 5; n++) draw(bucket, rate, now);
    const back = now - 365 * 86_400_000;
    expect(draw(bucket, rate, back)).toMatchObject({ allowed: false, retryAfterSeconds: 1 });
    expect(draw(bucket, rate, back + 1000).allowed).toBe(true);
  });

  test("uses a new rate immediately", () => {
    const bucket = fullBucket({ capacity: 10, perMinute: 60 }, 0);
    expect(draw(bucket, { capacity: 2, perMinute: 60 }, 0)).toMatchObject({ remaining: 1 });
    expect(draw(bucket, { capacity: 10, perMinute: 600 }, 500)).toMatchObject({ remaining: 5 });
  });
});

const ONE = { capacity: 1, perMinute: 1 };

describe("many buckets", () => {
  test("are independent", () => {
    const buckets = createBuckets();
    expect(["a", "b", "a", "b"].map((id) => buckets.draw(id, ONE, 0).allowed)).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });

  test("never exceed the bound: 500,000 addresses", () => {
    const buckets = createBuckets();
    const address = (n: number) => `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`;
    const flood = (from: number, to: number) => {
      for (let n = from; n < to; n++) buckets.draw(address(n), ONE, 0);
    };
    // Fill both generations once, so that their memory is already allocated.
    flood(0, 150_000);
    Bun.gc(true);
    const before = heapStats().heapSize;
    let largest = 0;
    for (let n = 150_000; n < 500_000; n += 1000) {
      flood(n, n + 1000);
      largest = Math.max(largest, buckets.size());
    }
    Bun.gc(true);
    expect(largest).toBe(MAX_BUCKETS);
    // Use live heap, because the allocator keeps pages of other tests in this process.
    expect((heapStats().heapSize - before) / 1e6).toBeLessThan(10);
  });

  test("forget the least recently used first", () => {
    const buckets = createBuckets(100);
    buckets.draw("regular", ONE, 0);
    for (let n = 0; n < 10_000; n++) {
      buckets.draw(`passer-by ${n}`, ONE, 0);
      if (n % 40 === 0) expect(buckets.draw("regular", ONE, 0).allowed).toBe(false);
    }
    // The last 50 are always remembered.
    for (let n = 9_999; n > 9_960; n--) expect(buckets.draw(`passer-by ${n}`, ONE, 0).allowed).toBe(false);
    expect(buckets.draw("passer-by 0", ONE, 0).allowed).toBe(true);
  });
});
