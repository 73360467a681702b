import { ApiError } from "../../domain/errors.ts";
import type { Exchange } from "../exchange.ts";
import type { Draw } from "./buckets.ts";

/** Tells how the bucket stands, on whatever answer follows; throws RATE_LIMIT_EXCEEDED when there was nothing to draw. */
export function settle(draw: Draw, { headers }: Pick<Exchange, "headers">, refusal: () => string): void {
  headers["ratelimit-limit"] = String(draw.limit);
  headers["ratelimit-remaining"] = String(draw.remaining);
  headers["ratelimit-reset"] = String(draw.resetSeconds);
  if (draw.allowed) return;
  const { retryAfterSeconds } = draw;
  throw new ApiError("RATE_LIMIT_EXCEEDED", `${refusal()} Try again in ${retryAfterSeconds} s.`, {
    retryAfterSeconds,
  });
}
