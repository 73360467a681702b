import { Elysia } from "elysia";
import type { Exchanges } from "../exchange.ts";

/** Nothing of the API is a page. The pages (docs) send their own policy, which beats this one. */
const API_POLICY = "default-src 'none'; frame-ancestors 'none'";

/**
 * Over TLS: come back over TLS. For a day only, as it holds for all ports of the host's name, and license managers
 * have plain pages of their own.
 */
const STRICT_TRANSPORT = "max-age=86400";

/**
 * Headers that every answer has: what keeps a browser from reading anything into it, and on `/api` and `/metrics` what
 * keeps shared caches from mixing up keys and formats.
 */
export function responseHeaders(exchanges: Exchanges, isTls: () => boolean) {
  return new Elysia({ name: "response-headers" }).onRequest(({ request }) => {
    const { headers, path } = exchanges.of(request);
    headers["x-content-type-options"] = "nosniff";
    headers["referrer-policy"] = "no-referrer";
    headers["content-security-policy"] = API_POLICY;
    if (isTls()) headers["strict-transport-security"] = STRICT_TRANSPORT;
    if (!path.startsWith("/api") && !path.startsWith("/metrics")) return;
    headers["cache-control"] = "private, no-cache";
    headers.vary = "Accept, X-API-Key, Authorization";
  });
}
