import { ApiError } from "../domain/errors.ts";
import type { KeyRecord } from "../domain/keys.ts";
import { iso } from "../domain/time/clock.ts";
import type { HttpDeps } from "./deps.ts";
import type { Exchange } from "./exchange.ts";
import { kindOf } from "./without-key.ts";

export interface Rate {
  /** Maximum number of requests in a burst. */
  readonly capacity: number;
  /** Number of requests that the bucket regains per minute. */
  readonly perMinute: number;
}

interface Bucket {
  /**
   * Content of the bucket. An integer, so that counting is exact: a request takes {@link REQUEST} units,
   * and each millisecond adds `perMinute` units.
   */
  level: number;
  /** Time of the last refill, epoch ms. */
  at: number;
}

const REQUEST = 60_000;

export function fullBucket({ capacity }: Rate, now: number): Bucket {
  return { level: capacity * REQUEST, at: now };
}

/**
 * Takes one request from the bucket if available, and refills it by the time since the last draw. If the
 * clock goes back, the bucket neither gains nor loses, so at most `capacity` + `perMinute` × minutes are
 * allowed in any span, and no client waits for the clock to catch up. Returns the remaining requests, and
 * whole seconds (rounded up) until the bucket is full and until one request is allowed (at least 1).
 */
export function draw(bucket: Bucket, { capacity, perMinute }: Rate, now: number) {
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
 * Keeps at most `max` buckets in two generations: once the younger one is half full it becomes the older one, and
 * unused buckets of the old one are dropped. A dropped client starts with a full bucket. A single Map in order of
 * use costs 15 times as much per draw, and 70 µs per eviction.
 */
export function createBuckets(max = MAX_BUCKETS) {
  let young = new Map<string, Bucket>();
  let old = new Map<string, Bucket>();
  return {
    draw(id: string, rate: Rate, now: number) {
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

export type Limits = ReturnType<typeof createLimits>;

/** Limits requests by address and key, and the keys' quotas. Answers report each draw. */
export function createLimits({ clock, quotas, settings }: Pick<HttpDeps, "clock" | "quotas" | "settings">) {
  const ofAddresses = createBuckets();
  const ofKeys = createBuckets();

  function drawFrom(
    buckets: ReturnType<typeof createBuckets>,
    id: string,
    rate: Rate,
    { headers }: Exchange,
    which: string,
  ): void {
    const now = clock.now();
    const drawn = buckets.draw(id, rate, now);
    const resetAt = Math.ceil(now / 1000) + drawn.resetSeconds;
    headers["ratelimit-limit"] = headers["x-ratelimit-limit"] = String(rate.capacity);
    headers["ratelimit-remaining"] = headers["x-ratelimit-remaining"] = String(drawn.remaining);
    headers["ratelimit-reset"] = String(drawn.resetSeconds);
    headers["x-ratelimit-reset"] = String(resetAt);
    if (drawn.allowed) return;
    const { retryAfterSeconds } = drawn;
    const allowed = `the limit is ${rate.perMinute} a minute, ${rate.capacity} at once`;
    const message = `Too many requests ${which}: ${allowed}. Try again in ${retryAfterSeconds} s.`;
    throw new ApiError("RATE_LIMIT_EXCEEDED", message, { retryAfterSeconds });
  }

  return {
    /** Throws RATE_LIMIT_EXCEEDED. */
    drawOfAddress(exchange: Exchange): void {
      const { burst, anonymousPerMinute } = settings().limits;
      const rate = { capacity: burst, perMinute: anonymousPerMinute };
      drawFrom(ofAddresses, exchange.address, rate, exchange, "without a valid key from this address");
    },
    /**
     * Draws on the key's bucket and quotas; each request counts once. `signIn` is the id of a sign-in,
     * which has its own bucket with the key's rate and no quotas, so browsers cannot use up a shared key.
     * Throws RATE_LIMIT_EXCEEDED or QUOTA_EXCEEDED.
     */
    drawOfKey(exchange: Exchange, caller: KeyRecord, signIn: string | null = null): void {
      const { burst, requestsPerMinute, dailyQuota, monthlyQuota } = settings().limits;
      const perMinute = caller.requestsPerMinute ?? requestsPerMinute;
      // A key for 5 requests a minute must not send 100 at once.
      const capacity = Math.min(burst, caller.requestsPerMinute ?? burst);
      const which = `with this ${signIn === null ? "key" : "sign-in"}`;
      drawFrom(ofKeys, signIn ?? caller.id, { capacity, perMinute }, exchange, which);
      if (signIn !== null || kindOf(caller.id) !== "key") return;
      const daily = caller.dailyQuota ?? dailyQuota;
      const refusal = quotas.take(caller.id, { daily, monthly: caller.monthlyQuota ?? monthlyQuota });
      if (refusal === null) return;
      const { period, limit, until } = refusal;
      const retryAfterSeconds = Math.max(1, Math.ceil((until - clock.now()) / 1000));
      const used = `This key's ${limit} requests of this ${period} (UTC) are used up.`;
      throw new ApiError("QUOTA_EXCEEDED", `${used} The quota resets at ${iso(until)}.`, {
        retryAfterSeconds,
      });
    },
  };
}
