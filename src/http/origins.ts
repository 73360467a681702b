import { ApiError } from "../domain/errors.ts";
import type { Exchange } from "./exchange.ts";
import { shown } from "./query.ts";
import { allowOf } from "./route-table.ts";

/** What scripts of a listed origin may send beyond what browsers always allow, and how long a browser may keep that. */
const PREFLIGHT = {
  "access-control-allow-headers":
    "X-API-Key, Authorization, Content-Type, Last-Event-ID, X-Request-ID, If-None-Match",
  "access-control-max-age": "600",
};
/** What they may read. */
const EXPOSED_HEADERS =
  "X-Request-ID, Retry-After, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, ETag";

/**
 * Cross-origin reading (https://fetch.spec.whatwg.org/#http-cors-protocol), off unless `http.cors_origins` lists the
 * origin: exactly, as there is no wildcard. Keys travel in headers that a script sets, never by themselves, so
 * credentials stay forbidden.
 *
 * Comes before every check, so that a script can read each refusal. Answers a preflight for a known path, which
 * carries no key, reveals nothing and precedes every request of such a script; it draws on no bucket.
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
 * Whether a request comes from a page of the daemon's own origin or of a listed one, or from no page: a browser names the
 * page's origin (`Origin`, RFC 6454) in whatever a page of another one may send, programs send none.
 *
 * Behind a proxy that changes the Host, the daemon does not know its own origin. The browser does: over TLS and on
 * loopback it says so itself (https://www.w3.org/TR/fetch-metadata/), in a header that no script can set.
 */
export function isFromOwnPage({ request, origin }: Exchange, listed: readonly string[] = []): boolean {
  const named = request.headers.get("origin");
  if (named === null || listed.includes(named) || named === origin) return true;
  return request.headers.get("sec-fetch-site") === "same-origin";
}

/**
 * CORS does not hold for sockets: a page of any site may open one (RFC 6455 10.2). It must be the daemon's own, or of an
 * origin that `http.cors_origins` lists. Throws AUTH_INSUFFICIENT.
 */
export function requireOwnPage(exchange: Exchange, listed: readonly string[]): void {
  if (isFromOwnPage(exchange, listed)) return;
  const origin = shown(exchange.request.headers.get("origin") ?? "");
  const why = "may not open a WebSocket here: http.cors_origins does not list it.";
  throw new ApiError("AUTH_INSUFFICIENT", `Pages of the origin ${origin} ${why}`);
}
