import { ApiError } from "../domain/errors.ts";
import type { Exchange } from "./exchange.ts";
import { shown } from "./query.ts";
import { allowOf } from "./route-table.ts";

/** Headers that scripts of a listed origin may send, and how long browsers may cache this. */
const PREFLIGHT = {
  "access-control-allow-headers":
    "X-API-Key, Authorization, Content-Type, Last-Event-ID, X-Request-ID, If-None-Match",
  "access-control-max-age": "600",
};
const EXPOSED_HEADERS =
  "X-Request-ID, Retry-After, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, ETag";

/**
 * Allows cross-origin access (https://fetch.spec.whatwg.org/#http-cors-protocol) for the exact origins in
 * `http.cors_origins`. Scripts send keys in headers, so credentials stay forbidden. Runs before every check, so that a
 * script can read each refusal. A preflight for a known path reveals nothing, so it needs no key and uses no bucket.
 */
export function answerCors(
  { request, headers, route }: Exchange,
  listed: readonly string[],
): Response | undefined {
  if (listed.length === 0) return undefined;
  headers.vary = headers.vary === undefined ? "Origin" : `${headers.vary}, Origin`;
  const origin = request.headers.get("origin");
  if (origin === null || !listed.includes(origin)) return undefined;
  headers["access-control-allow-origin"] = origin;

  const isPreflight = request.method === "OPTIONS" && request.headers.has("access-control-request-method");
  if (!isPreflight || route === null) {
    headers["access-control-expose-headers"] = EXPOSED_HEADERS;
    return undefined;
  }
  const allow = allowOf(route);
  const answer = { allow, "access-control-allow-methods": allow, ...PREFLIGHT };
  return new Response(null, { status: 204, headers: answer });
}

/**
 * Reports whether a request comes from a page of the daemon's own or a listed origin, or from a program.
 * Browsers send `Origin` (RFC 6454) with every cross-origin request; programs do not. Behind a proxy that
 * changes the Host, the daemon does not know its own origin. Over TLS and on loopback, a browser then marks
 * same-origin requests in a header that scripts cannot set (https://www.w3.org/TR/fetch-metadata/).
 */
export function isFromOwnPage({ request, origin }: Exchange, listed: readonly string[] = []): boolean {
  const named = request.headers.get("origin");
  if (named === null || listed.includes(named) || named === origin) return true;
  return request.headers.get("sec-fetch-site") === "same-origin";
}

/**
 * Browsers do not apply CORS to WebSockets: a page of any site may open one (RFC 6455 10.2). Throws
 * AUTH_INSUFFICIENT unless the origin is the daemon's own or listed in `http.cors_origins`.
 */
export function requireOwnPage(exchange: Exchange, listed: readonly string[]): void {
  if (isFromOwnPage(exchange, listed)) return;
  const origin = shown(exchange.request.headers.get("origin") ?? "");
  const why = "may not open a WebSocket here: http.cors_origins does not list it.";
  throw new ApiError("AUTH_INSUFFICIENT", `Pages of the origin ${origin} ${why}`);
}
