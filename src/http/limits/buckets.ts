/** How much may be asked. */
export interface Rate {
  /** Requests at once, after a rest. */
  readonly capacity: number;
  /** Requests a minute that come back. */
  readonly perMinute: number;
}

/** State of one bucket. */
interface Bucket {
  /** A request takes {@link REQUEST} units and a millisecond gives `perMinute` units: whole numbers, so exact. */
  level: number;
  /** Epoch ms up to which it was filled. */
  at: number;
}

/** What came of one draw, and how the bucket stands after it. Seconds are whole, rounded up. */
export interface Draw {
  readonly allowed: boolean;
  /** Requests that are left now. */
  readonly remaining: number;
  /** Seconds until the bucket is full again. */
  readonly resetSeconds: number;
  /** Seconds until one request is allowed; at least 1. Means nothing when this one was. */
  readonly retryAfterSeconds: number;
}

/** Milliseconds of a minute: what makes units of both sides whole. */
const REQUEST = 60_000;

export function fullBucket({ capacity }: Rate, now: number): Bucket {
  return { level: capacity * REQUEST, at: now };
}

/**
 * Takes one request out of the bucket, if there is one. Filled lazily, by the time since the last draw.
 *
 * A clock that goes back gives nothing and costs nothing: time counts on from there. So never more than
 * `capacity` + `perMinute` × the minutes by which the clock went forward are allowed in any span, and no client waits
 * for a clock to catch up. A rate that changes holds from now on for what is in the bucket.
 */
export function draw(bucket: Bucket, { capacity, perMinute }: Rate, now: number): Draw {
  const full = capacity * REQUEST;
  bucket.level = Math.min(full, bucket.level + Math.max(0, now - bucket.at) * perMinute);
  bucket.at = now;
  const allowed = bucket.level >= REQUEST;
  if (allowed) bucket.level -= REQUEST;
  const secondsTo = (level: number) => Math.ceil(Math.max(0, level - bucket.level) / perMinute / 1000);
  return {
    allowed,
    remaining: Math.floor(bucket.level / REQUEST),
    resetSeconds: secondsTo(full),
    retryAfterSeconds: Math.max(1, secondsTo(REQUEST)),
  };
}

export const MAX_BUCKETS = 100_000;

/**
 * The buckets of many addresses, or of many keys: at most `max` of them, whatever comes. Two generations: when the
 * younger one holds half of the bound, it becomes the older, and what the older held and was not used since is
 * forgotten. A forgotten client starts with a full bucket, which most of them have by then.
 *
 * One Map in order of use, the usual form, costs 15 times as much per draw (delete and set), and 70 µs per eviction,
 * as finding the first entry walks over all deleted ones.
 */
export function createBuckets(max = MAX_BUCKETS) {
  let young = new Map<string, Bucket>();
  let old = new Map<string, Bucket>();
  return {
    draw(id: string, rate: Rate, now: number): Draw {
      let bucket = young.get(id);
      if (bucket === undefined) {
        bucket = old.get(id) ?? fullBucket(rate, now);
        old.delete(id);
        if (young.size >= max / 2) [old, young] = [young, new Map()];
        young.set(id, bucket);
      }
      return draw(bucket, rate, now);
    },
    size: () => young.size + old.size,
  };
}
