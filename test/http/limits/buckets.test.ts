import { heapStats } from "bun:jsc";
import { describe, expect, test } from "bun:test";
import { createBuckets, MAX_BUCKETS } from "../../../src/http/limits/buckets.ts";

const ONE = { capacity: 1, perMinute: 1 };

describe("many buckets", () => {
  test("are each their own", () => {
    const buckets = createBuckets();
    expect(["a", "b", "a", "b"].map((id) => buckets.draw(id, ONE, 0).allowed)).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });

  test("never grow over the bound: 500,000 addresses", () => {
    const buckets = createBuckets();
    const address = (n: number) => `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`;
    const flood = (from: number, to: number) => {
      for (let n = from; n < to; n++) buckets.draw(address(n), ONE, 0);
    };
    // By then both generations have been full once: what memory they take they have.
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
    // What lives, not what the process holds: the allocator keeps pages of the many tests beside this one.
    expect((heapStats().heapSize - before) / 1e6).toBeLessThan(10);
  });

  test("forget the longest unused first: whoever comes again and again stays", () => {
    const buckets = createBuckets(100);
    buckets.draw("regular", ONE, 0);
    for (let n = 0; n < 10_000; n++) {
      buckets.draw(`passer-by ${n}`, ONE, 0);
      if (n % 40 === 0) expect(buckets.draw("regular", ONE, 0).allowed).toBe(false);
    }
    // The last 50 are remembered in any case.
    for (let n = 9_999; n > 9_960; n--) expect(buckets.draw(`passer-by ${n}`, ONE, 0).allowed).toBe(false);
    expect(buckets.draw("passer-by 0", ONE, 0).allowed).toBe(true);
  });
});
