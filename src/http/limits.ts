import { ApiError } from "../domain/errors.ts";
import type { KeyRecord } from "../domain/keys.ts";
import { iso } from "../domain/time/clock.ts";
import type { HttpDeps } from "./deps.ts";
import type { Exchange } from "./exchange.ts";
import { kindOf } from "./without-key.ts";

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

/** Milliseconds of a minute: what makes units of both sides whole. */
const REQUEST = 60_000;

export function fullBucket({ capacity }: Rate, now: number): Bucket {
  return { level: capacity * REQUEST, at: now };
}

/**
 * Takes one request from the bucket, if available. The bucket refills lazily by the time since the last
 * draw. Returns the remaining requests, and the whole seconds, rounded up, until it is full and until one
 * request is allowed (at least 1). A clock that goes back adds and costs nothing. So in any span at most
 * `capacity` + `perMinute` × the minutes by which the clock advanced are allowed, and no client waits for a
 * clock to catch up. A changed rate applies to the current content.
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
 * Buckets of many addresses or keys, at most `max`. Two generations: when the younger one has half of the
 * bound it becomes the older one, and unused buckets of the old one are forgotten. A forgotten client
 * starts with a full bucket, which most have by then. A single Map in order of use costs 15 times as much
 * per draw (delete and set), and 70 µs per eviction, because finding the first entry walks over all deleted
 * ones.
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

/** Buckets of addresses and keys, and the keys' quotas. Answers report each draw. */
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
    const allowed = `it has ${rate.perMinute} a minute, ${rate.capacity} at once`;
    const message = `Too many requests ${which}: ${allowed}. Try again in ${retryAfterSeconds} s.`;
    throw new ApiError("RATE_LIMIT_EXCEEDED", message, { retryAfterSeconds });
  }

  return {
    /** Throws RATE_LIMIT_EXCEEDED when the client's address has asked too often. */
    drawOfAddress(exchange: Exchange): void {
      const { burst, anonymousPerMinute } = settings().limits;
      const rate = { capacity: burst, perMinute: anonymousPerMinute };
      drawFrom(ofAddresses, exchange.address, rate, exchange, "without a valid key from this address");
    },
    /**
     * A sign-in (`signIn`: its id) has its own bucket with its key's rate and does not count in the key's
     * quotas, so browsers cannot use up a shared key. Throws RATE_LIMIT_EXCEEDED or QUOTA_EXCEEDED. A
     * request that passes the bucket counts once, whatever its answer; a refused one does not count. The
     * key's own limits precede the config's.
     */
    drawOfKey(exchange: Exchange, caller: KeyRecord, signIn: string | null = null): void {
      const { burst, requestsPerMinute, dailyQuota, monthlyQuota } = settings().limits;
      const perMinute = caller.requestsPerMinute ?? requestsPerMinute;
      // A key made for 5 requests a minute must not get 100 of them at once.
      const capacity = Math.min(burst, caller.requestsPerMinute ?? burst);
      const which = `with this ${signIn === null ? "key" : "sign-in"}`;
      drawFrom(ofKeys, signIn ?? caller.id, { capacity, perMinute }, exchange, which);
      // Quotas are of keys.
      if (signIn !== null || kindOf(caller.id) !== "key") return;
      const daily = caller.dailyQuota ?? dailyQuota;
      const refusal = quotas.take(caller.id, { daily, monthly: caller.monthlyQuota ?? monthlyQuota });
      if (refusal === null) return;
      const { period, limit, until } = refusal;
      const retryAfterSeconds = Math.max(1, Math.ceil((until - clock.now()) / 1000));
      const used = `This key's ${limit} requests of this ${period} (UTC) are used up.`;
      throw new ApiError("QUOTA_EXCEEDED", `${used} It may ask again at ${iso(until)}.`, {
        retryAfterSeconds,
      });
    },
  };
}
