import { Elysia, ElysiaStatus, ParseError } from "elysia";
import { ApiError } from "../domain/errors.ts";
import { iso } from "../domain/time/clock.ts";
import type { Audit } from "./audit.ts";
import { presentedKey, requirePermission, validKey } from "./auth.ts";
import { readJson, tooLarge } from "./body.ts";
import { answerCors, checkSocketOrigin } from "./cors.ts";
import type { HttpDeps } from "./deps.ts";
import { apiErrorOf, errorAnswer, noSuchPath } from "./errors.ts";
import { type Exchange, gated, splitUrl } from "./exchange.ts";
import { createBuckets, type Rate } from "./limits/buckets.ts";
import { createClientAddress } from "./limits/client-address.ts";
import { sentValues } from "./query.ts";
import type { RequestCounters } from "./request-counters.ts";
import { type Access, allowOf, type KnownRoute } from "./route-table.ts";
import { shown } from "./shown.ts";

const CLIENT_ID = /^[A-Za-z0-9._-]{1,128}$/;
/** Nothing of the API is a page. The pages (docs) send their own policy, which beats this one. */
const ALWAYS = {
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
};
/** Shared caches must not mix up keys and formats. */
const OF_API = { "cache-control": "private, no-cache", vary: "Accept, X-API-Key, Authorization" };
/**
 * Over TLS: come back over TLS. For a day only, because it holds for all ports of the host's name, and license
 * managers have plain pages of their own.
 */
const OVER_TLS = { "strict-transport-security": "max-age=86400" };

/** The connection's side, which the listening server alone knows. */
export interface Connection {
  /** Address of the other end; null where there is none. */
  peer(request: Request): string | null;
  isTls(): boolean;
}

/**
 * The gate: one hook before the router, which makes the exchange and checks the request in the order of the steps
 * below, before a byte of its body is read. What it must know of a route is declared by the route.
 */
export function createGate(
  deps: Pick<HttpDeps, "clock" | "execute" | "keys" | "log" | "quotas" | "settings">,
  findRoute: (path: string) => KnownRoute | null,
  connection: Connection,
  audit: Audit,
  counters: RequestCounters,
) {
  const { clock, execute, keys, quotas, settings } = deps;
  const log = deps.log("http");
  const authLog = deps.log("auth");
  const address = createClientAddress(connection.peer, () => settings().trustedProxies);
  const addressBuckets = createBuckets();
  const keyBuckets = createBuckets();

  return new Elysia({ name: "gate" })
    .use(gated)
    .onError({ as: "global" }, ({ code, error, request, exchange }) => {
      // What reading a body throws comes wrapped.
      const thrown = error instanceof ParseError ? error.cause : error;
      const known = apiErrorOf(code, thrown);
      if (exchange?.acting) audit.refused(exchange, exchange.acting, known.code);
      return finish(request, exchange, errorAnswer(known, thrown, request, exchange, clock.now(), log));
    })
    .onRequest((context) => {
      const { request } = context;
      const exchange = open(request);
      context.exchange = exchange;
      const answer = answerCors(request, exchange, settings().corsOrigins) ?? admit(request, exchange);
      return answer === undefined ? undefined : finish(request, exchange, answer);
    })
    .onParse({ as: "global" }, ({ request, exchange }) => {
      // Not even the body of a route that takes none is left to Elysia's parsers.
      return exchange.route?.takesBody === true ? readJson(request, settings().maxBodyBytes) : null;
    })
    .onTransform({ as: "global" }, ({ exchange, route }) => {
      // The key was checked for the route found here; should the router ever read a path otherwise, nothing runs.
      if (exchange.route?.path !== route) throw noSuchPath();
      // Every value that was sent: of a repeated parameter Elysia hands over the last one alone.
      const query = sentValues(exchange.query, exchange.route.keyInQuery ? ["api_key"] : []);
      // Elysia merges what a transform returns into the context; its types say that it returns nothing.
      return { query } as unknown as undefined;
    })
    .mapResponse({ as: "global" }, ({ request, exchange, responseValue }) => {
      const respond = (value: unknown): Response | undefined => {
        // A socket that was opened has no answer.
        if (value === undefined) return undefined;
        if (value instanceof Response) return finish(request, exchange, value);
        const [body, status] = value instanceof ElysiaStatus ? [value.response, value.code] : [value, 200];
        return finish(request, exchange, Response.json(body, { status }));
      };
      const value: unknown = responseValue;
      return value instanceof Promise ? value.then(respond) : respond(value);
    });

  /** 1: the request's id, its client's own when it is harmless. */
  function open(request: Request): Exchange {
    const sent = request.headers.get("x-request-id");
    const id = sent !== null && CLIENT_ID.test(sent) ? sent : Bun.randomUUIDv7();
    const { path, query } = splitUrl(request.url);
    const isApi = path.startsWith("/api") || path.startsWith("/metrics");
    counters.begun();
    return {
      id,
      path,
      query,
      startedAt: performance.now(),
      route: findRoute(path),
      get address() {
        return address.of(request);
      },
      caller: null,
      acting: null,
      headers: { "x-request-id": id, ...ALWAYS, ...(connection.isTls() && OVER_TLS), ...(isApi && OF_API) },
      answered: false,
    };
  }

  function admit(request: Request, exchange: Exchange): Response | undefined {
    const { route } = exchange;
    const access = route?.access.get(request.method);
    const presented = access === "open" ? null : presentedKey(request, exchange);
    const check = presented === null ? null : keys.verify(presented);
    // 2: the bucket of the address, for requests without a valid key, unknown paths and wrong methods included.
    // A valid key neither draws on it nor is kept out by neighbours that emptied it, so the key is checked here
    // already (some µs). Keys can be guessed no faster than that: behind an empty bucket a wrong key learns nothing.
    // Health, ping, the docs and the page's files need no key and draw on nothing.
    if (access !== "open" && check?.outcome !== "valid") drawOfAddress(exchange);
    // 3: paths are public, so this comes before the key. Elysia itself would answer 404 to all three.
    if (route === null) {
      const what = shown(exchange.path);
      throw new ApiError("NOT_FOUND", `There is no ${what} here; /swagger lists what there is.`);
    }
    if (access === undefined) {
      const headers = { allow: allowOf(route) };
      if (request.method === "OPTIONS") return new Response(null, { status: 204, headers });
      const message = `${route.path} takes ${headers.allow}, not ${shown(request.method)}.`;
      throw new ApiError("METHOD_NOT_ALLOWED", message, { headers });
    }
    if (access !== "open") admitCaller(request, exchange, route, access, check);
    // 7: a body that says that it is too long. One that does not say (chunked) is counted while it is read.
    const { maxBodyBytes } = settings();
    if (Number(request.headers.get("content-length") ?? 0) > maxBodyBytes) throw tooLarge(maxBodyBytes);
    return undefined;
  }

  function admitCaller(
    request: Request,
    exchange: Exchange,
    route: KnownRoute,
    access: Exclude<Access, "open">,
    check: ReturnType<typeof keys.verify> | null,
  ): void {
    const who = () => ({ address: exchange.address, requestId: exchange.id, path: route.path });
    // 4: the key
    if (check !== null && check.outcome !== "valid") {
      const keyId = check.outcome === "invalid" ? null : check.key.id;
      authLog.warn("API key refused", { outcome: check.outcome, keyId, ...who() });
    }
    const caller = validKey(check);
    exchange.caller = caller;
    keys.touch(caller.id, clock.now());
    // 5: its bucket and quotas
    drawOfKey(exchange, caller);
    // 6: its role. The trail has every command that was asked for.
    if (access === "execute_operator") exchange.acting = { message: "Command", fields: {} };
    try {
      requirePermission(exchange, access);
    } catch (error) {
      authLog.warn("API key lacks a permission", { keyId: caller.id, needed: access, ...who() });
      throw error;
    }
    if (access === "execute_operator" && !execute.enabled) {
      const message = "Commands are off: execute.enabled = true in the config turns them on.";
      throw new ApiError("AUTH_INSUFFICIENT", message);
    }
    if (route.path.startsWith("/ws/")) {
      checkSocketOrigin(request, () => isHttps(request), settings().corsOrigins);
    }
  }

  /** Whether the client speaks TLS: a trusted proxy may have taken it off. */
  function isHttps(request: Request): boolean {
    const told = address.behindProxy(request) ? request.headers.get("x-forwarded-proto") : null;
    return told === null ? connection.isTls() : told.trim().toLowerCase() === "https";
  }

  function drawOfAddress(exchange: Exchange): void {
    const { burst, anonymousPerMinute } = settings().limits;
    const rate = { capacity: burst, perMinute: anonymousPerMinute };
    draw(addressBuckets, exchange.address, rate, exchange, "without a valid key from this address");
  }

  /**
   * A request that passes the bucket counts once, whatever its answer; what is refused here does not count. The key's
   * own figures beat the config's.
   */
  function drawOfKey(exchange: Exchange, caller: NonNullable<Exchange["caller"]>): void {
    const { burst, requestsPerMinute, dailyQuota, monthlyQuota } = settings().limits;
    const perMinute = caller.requestsPerMinute ?? requestsPerMinute;
    // A key made for 5 requests a minute must not get 100 of them at once.
    const capacity = Math.min(burst, caller.requestsPerMinute ?? burst);
    draw(keyBuckets, caller.id, { capacity, perMinute }, exchange, "with this key");
    const daily = caller.dailyQuota ?? dailyQuota;
    const refusal = quotas.take(caller.id, { daily, monthly: caller.monthlyQuota ?? monthlyQuota });
    if (refusal === null) return;
    const { period, limit, until } = refusal;
    const retryAfterSeconds = Math.max(1, Math.ceil((until - clock.now()) / 1000));
    const used = `This key's ${limit} requests of this ${period} (UTC) are used up.`;
    throw new ApiError("QUOTA_EXCEEDED", `${used} It may ask again at ${iso(until)}.`, { retryAfterSeconds });
  }

  /** Takes a request out of a bucket, and says on whatever answer follows how the bucket stands. */
  function draw(
    buckets: ReturnType<typeof createBuckets>,
    id: string,
    rate: Rate,
    { headers }: Exchange,
    which: string,
  ): void {
    const drawn = buckets.draw(id, rate, clock.now());
    headers["ratelimit-limit"] = String(rate.capacity);
    headers["ratelimit-remaining"] = String(drawn.remaining);
    headers["ratelimit-reset"] = String(drawn.resetSeconds);
    if (drawn.allowed) return;
    const { retryAfterSeconds } = drawn;
    const allowed = `it has ${rate.perMinute} a minute, ${rate.capacity} at once`;
    const message = `Too many requests ${which}: ${allowed}. Try again in ${retryAfterSeconds} s.`;
    throw new ApiError("RATE_LIMIT_EXCEEDED", message, { retryAfterSeconds });
  }

  /**
   * Puts the exchange's headers on its answer, counts it and logs it. What a route says itself beats them, but for
   * `Vary`, which adds up. Not through Elysia's `set.headers`: for these it makes every Response again, with its body
   * as a stream, which costs a large answer a tenth of its rate. The log has no query: it may hold a key.
   */
  function finish(request: Request, exchange: Exchange | null, answer: Response): Response {
    if (exchange === null || exchange.answered) return answer;
    exchange.answered = true;
    for (const name in exchange.headers) {
      const own = answer.headers.get(name);
      if (own === null) answer.headers.set(name, exchange.headers[name] ?? "");
      else if (name === "vary") answer.headers.set(name, `${own}, ${exchange.headers[name]}`);
    }
    const { status } = answer;
    const { method } = request;
    const durationMs = performance.now() - exchange.startedAt;
    counters.count({ method, route: exchange.route?.path ?? null, status, durationMs });
    log.debug("Request", {
      requestId: exchange.id,
      method,
      path: exchange.path.slice(0, 500),
      status,
      durationMs: Math.round(durationMs * 100) / 100,
      keyId: exchange.caller?.id,
    });
    return answer;
  }
}
