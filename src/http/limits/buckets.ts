import { type Bucket, type Draw, draw, fullBucket, type Rate } from "./token-bucket.ts";

export const MAX_BUCKETS = 100_000;

/** The buckets of many addresses, or of many keys. */
export interface Buckets {
  draw(id: string, rate: Rate, now: number): Draw;
  /** Buckets in memory: never more than the bound. */
  size(): number;
}

/**
 * Keeps at most `max` buckets, whatever comes. Two generations: when the younger one holds half of the bound, it
 * becomes the older, and what stands in the older and was not used since is forgotten, the longest unused first
 * of all. Who is forgotten starts with a full bucket, which most of them have by then.
 *
 * One Map in order of use, the usual form, costs 15 times as much per draw (delete and set), and 70 µs per eviction,
 * as finding the first entry walks over all deleted ones.
 */
export function createBuckets(max = MAX_BUCKETS): Buckets {
  let young = new Map<string, Bucket>();
  let old = new Map<string, Bucket>();

  function bucketOf(id: string, rate: Rate, now: number): Bucket {
    const recent = young.get(id);
    if (recent !== undefined) return recent;
    const known = old.get(id);
    const bucket = known ?? fullBucket(rate, now);
    if (known !== undefined) old.delete(id);
    if (young.size >= max / 2) {
      old = young;
      young = new Map();
    }
    young.set(id, bucket);
    return bucket;
  }

  return {
    draw: (id, rate, now) => draw(bucketOf(id, rate, now), rate, now),
    size: () => young.size + old.size,
  };
}
