/** How much may be asked. */
export interface Rate {
  /** Requests at once, after a rest. */
  readonly capacity: number;
  /** Requests a minute that come back. */
  readonly perMinute: number;
}

/** State of one bucket. */
export interface Bucket {
  /** In units of which a request takes {@link REQUEST} and a millisecond gives `perMinute`: whole numbers, so exact. */
  level: number;
  /** Epoch ms up to which it was filled. */
  at: number;
}

/** What came of one draw, and how the bucket stands after it. Seconds are whole, rounded up. */
export interface Draw {
  readonly allowed: boolean;
  readonly limit: number;
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
 * `capacity` + `perMinute` × the minutes by which the clock went forward are allowed in any span, and nobody waits
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
    limit: capacity,
    remaining: Math.floor(bucket.level / REQUEST),
    resetSeconds: secondsTo(full),
    retryAfterSeconds: Math.max(1, secondsTo(REQUEST)),
  };
}
