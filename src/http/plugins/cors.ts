import { Elysia } from "elysia";
import type { Exchanges } from "../exchange.ts";

/** What scripts of a listed origin may send and read beyond what browsers always allow. */
const REQUEST_HEADERS = "X-API-Key, Authorization, Content-Type, Last-Event-ID, X-Request-ID, If-None-Match";
const EXPOSED_HEADERS =
  "X-Request-ID, Retry-After, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, ETag";
/** How long a browser may keep a preflight's answer. */
const PREFLIGHT_SECONDS = 600;

/**
 * Cross-origin reading (https://fetch.spec.whatwg.org/#http-cors-protocol), off unless `http.cors_origins` lists the
 * origin: exactly, as there is no wildcard. Keys travel in headers that a script sets, never by themselves, so
 * credentials stay forbidden.
 *
 * Stands before every check, so that a script can read each refusal. A preflight carries no key, says nothing and
 * comes before every request of such a script: it is answered here and draws on no bucket. One for an unknown path,
 * or of another origin, is a plain OPTIONS and goes on.
 */
export function cors(exchanges: Exchanges, origins: () => readonly string[]) {
  return new Elysia({ name: "cors" }).onRequest(({ request }) => {
    const listed = origins();
    if (listed.length === 0) return;
    const { headers, route } = exchanges.of(request);
    const { vary } = headers;
    headers.vary = vary === undefined ? "Origin" : `${vary}, Origin`;
    const origin = request.headers.get("origin");
    if (origin === null || !listed.includes(origin)) return;
    headers["access-control-allow-origin"] = origin;

    const isPreflight = request.method === "OPTIONS" && request.headers.has("access-control-request-method");
    if (!isPreflight || route === null) {
      headers["access-control-expose-headers"] = EXPOSED_HEADERS;
      return;
    }
    return new Response(null, {
      status: 204,
      headers: {
        allow: route.allow.join(", "),
        "access-control-allow-methods": route.allow.join(", "),
        "access-control-allow-headers": REQUEST_HEADERS,
        "access-control-max-age": String(PREFLIGHT_SECONDS),
      },
    });
  });
}
