import { Elysia } from "elysia";
import { type Clock, iso } from "../../domain/clock.ts";
import { ApiError } from "../../domain/errors.ts";
import type { HttpSettings, QuotasPort } from "../deps.ts";
import type { Exchanges } from "../exchange.ts";
import { createBuckets } from "../limits/buckets.ts";
import { settle } from "../limits/rate-headers.ts";

export interface KeyLimitDeps {
  readonly quotas: QuotasPort;
  readonly clock: Clock;
  readonly limits: () => HttpSettings["limits"];
}

/**
 * Step 5: the key's bucket, then its quotas. A request that passes the bucket counts once, whatever its answer;
 * what is refused here does not count. The key's own figures beat the config's; both are read each time.
 */
export function keyLimit(exchanges: Exchanges, { quotas, clock, limits }: KeyLimitDeps) {
  const buckets = createBuckets();
  return new Elysia({ name: "key-limit" }).onRequest(({ request }) => {
    const exchange = exchanges.of(request);
    const { caller } = exchange;
    if (caller === null) return;
    const { burst, requestsPerMinute, dailyQuota, monthlyQuota } = limits();
    const perMinute = caller.requestsPerMinute ?? requestsPerMinute;
    // A key made for 5 requests a minute must not get 100 of them at once.
    const capacity = Math.min(burst, caller.requestsPerMinute ?? burst);
    settle(
      buckets.draw(caller.id, { capacity, perMinute }, clock.now()),
      exchange,
      () => `Too many requests with this key: it has ${perMinute} a minute, ${capacity} at once.`,
    );
    const refusal = quotas.take(caller.id, {
      daily: caller.dailyQuota ?? dailyQuota,
      monthly: caller.monthlyQuota ?? monthlyQuota,
    });
    if (refusal === null) return;
    const { period, limit, until } = refusal;
    throw new ApiError(
      "QUOTA_EXCEEDED",
      `This key's ${limit} requests of this ${period} (UTC) are used up. It may ask again at ${iso(until)}.`,
      { retryAfterSeconds: Math.max(1, Math.ceil((until - clock.now()) / 1000)) },
    );
  });
}
