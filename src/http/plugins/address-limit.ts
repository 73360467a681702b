import { Elysia } from "elysia";
import type { Clock } from "../../domain/clock.ts";
import type { HttpSettings, KeysPort } from "../deps.ts";
import type { Exchange, Exchanges } from "../exchange.ts";
import { createBuckets } from "../limits/buckets.ts";
import type { ClientAddress } from "../limits/client-address.ts";
import { settle } from "../limits/rate-headers.ts";
import { checkKey } from "./auth.ts";

export interface AddressLimitDeps {
  readonly keys: Pick<KeysPort, "verify">;
  readonly clock: Clock;
  readonly address: ClientAddress;
  readonly limits: () => HttpSettings["limits"];
}

/**
 * Step 2: the bucket of the address, for whoever comes without a valid key, unknown paths and wrong methods included.
 *
 * The bucket stands before the key, and yet a valid key must neither draw on it nor be kept out by neighbours that
 * emptied it. So a key that is presented is checked here already (some µs; the outcome is told in its place, step 4),
 * and everything else draws. Keys can be guessed at no higher rate than that: when the bucket is empty, a wrong key
 * learns nothing but that.
 */
export function addressLimit(exchanges: Exchanges, { keys, clock, address, limits }: AddressLimitDeps) {
  const buckets = createBuckets();
  return new Elysia({ name: "address-limit" }).onRequest(({ request }) => {
    const exchange = exchanges.of(request);
    if (isFree(exchange, request.method)) return;
    if (checkKey(request, exchange, keys)?.outcome === "valid") return;
    const { burst, anonymousPerMinute } = limits();
    const rate = { capacity: burst, perMinute: anonymousPerMinute };
    settle(
      buckets.draw(address.of(request), rate, clock.now()),
      exchange,
      () =>
        `Too many requests without a valid key from this address: it has ${anonymousPerMinute} a minute, ${burst} at once.`,
    );
  });
}

/** Health, ping, the docs and the dashboard's files ask for no key and count for nobody. */
function isFree({ route }: Exchange, method: string): boolean {
  return route?.access.get(method) === "open";
}
