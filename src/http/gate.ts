import { Elysia, ElysiaStatus, ParseError } from "elysia";
import { ApiError } from "../domain/errors.ts";
import { type KeyRecord, permits } from "../domain/keys.ts";
import type { KeyCheck } from "../store/key-book.ts";
import type { SignInCheck } from "../store/sign-in-book.ts";
import { readJson, tooLarge } from "./body.ts";
import type { HttpDeps } from "./deps.ts";
import { apiErrorOf, errorAnswer, noSuchPath } from "./errors.ts";
import {
  type Audit,
  arrivalOf,
  createExchanges,
  type Exchange,
  gated,
  noCaller,
  presentedKey,
  type Root,
  requireLabels,
  requirePeople,
  requirePermission,
} from "./exchange.ts";
import type { Limits } from "./limits.ts";
import { answerCors, requireOwnPage } from "./origins.ts";
import { sentValues, shown } from "./query.ts";
import type { RequestCounters } from "./request-counters.ts";
import { type Access, allowOf, type KnownRoute } from "./route-table.ts";
import { cookieName, cookieOf, endedCookie, isFirstRead, requirePage } from "./sign-in.ts";
import { kindOf, proxyCaller, publicCaller } from "./without-key.ts";

/** Both are null if the request has neither key nor cookie. */
interface Found {
  readonly caller: KeyRecord | null;
  readonly check: KeyCheck | SignInCheck | null;
}
const NOBODY: Found = { caller: null, check: null };

/** Reports whether a browser asks for a page. */
const wantsPage = ({ path, request: { method, headers } }: Pick<Exchange, "path" | "request">) =>
  (method === "GET" || method === "HEAD") &&
  !/^\/(api|stream|ws)(\/|$)/.test(path) &&
  (headers.get("accept") ?? "").includes("text/html");

/** Maximum size of a body on routes without a key. */
const OPEN_BODY_BYTES = 4096;
/**
 * Creates the gate: one hook before the router. The gate creates the exchange and checks the request in
 * numbered steps before any byte of the body is read. Each route declares the gate's settings for it.
 */
export function createGate(
  deps: Pick<
    HttpDeps,
    | "clock"
    | "execute"
    | "installationId"
    | "keys"
    | "log"
    | "narrowed"
    | "settings"
    | "signIns"
    | "troubleOf"
  >,
  root: Root,
  limits: Limits,
  audit: Audit,
  counters: RequestCounters,
  notFoundPage: (path: string, settings: HttpDeps["settings"]) => Promise<Response>,
) {
  const { clock, execute, keys, settings, signIns } = deps;
  const log = deps.log("http");
  const authLog = deps.log("auth");
  const openExchange = createExchanges(root, settings);

  return new Elysia({ name: "gate" })
    .use(gated)
    .onError({ as: "global" }, ({ code, error, exchange }) => {
      // Elysia wraps errors from reading a body.
      const thrown = error instanceof ParseError ? error.cause : error;
      const known = deps.troubleOf?.(thrown) ?? apiErrorOf(code, thrown);
      audit.refused(exchange, known.code);
      if (exchange.route === null && known.code === "NOT_FOUND" && wantsPage(exchange))
        return notFoundPage(exchange.path, settings).then((answer) => finish(exchange, answer));
      return finish(exchange, errorAnswer(known, thrown, exchange, clock.now(), log));
    })
    .onRequest((context) => {
      // Polls slow down while requests arrive. Do not count POST requests, because a rescan waits for polls.
      if (context.request.method !== "POST") counters.begun();
      // 1: id
      const exchange = openExchange(context.request);
      context.exchange = exchange;
      const answer = answerCors(exchange, settings().corsOrigins) ?? admit(exchange);
      return answer === undefined ? undefined : finish(exchange, answer);
    })
    .onParse({ as: "global" }, ({ request, exchange }) => {
      // Elysia's own parsers never read a body.
      return exchange.route?.takesBody === true ? readJson(request, maxBytesOf(exchange)) : null;
    })
    .onTransform({ as: "global" }, ({ exchange, route }) => {
      // The key was checked for this route, so refuse if the router finds another one.
      if (exchange.route?.path !== route) throw noSuchPath();
      // Parse the query here, because Elysia passes only the last value of a repeated parameter.
      const sent = sentValues(exchange.query, exchange.route.keyInQuery ? ["api_key"] : []);
      // Open routes need no check: the page's documents are equal for everyone.
      if ("label" in sent && exchange.route.access.get(exchange.request.method) !== "open")
        requireLabels(exchange);
      const query = exchange.route.isOfServers ? (deps.narrowed?.(sent, exchange) ?? sent) : sent;
      // Elysia merges a transform's result into the context, but its types declare none.
      return { query } as unknown as undefined;
    })
    .mapResponse({ as: "global" }, ({ exchange, responseValue }) => {
      const respond = (value: unknown): Response | undefined => {
        // An upgraded WebSocket request gets no HTTP response.
        if (value === undefined) return undefined;
        if (value instanceof Response) return finish(exchange, value);
        const [body, status] = value instanceof ElysiaStatus ? [value.response, value.code] : [value, 200];
        return finish(exchange, Response.json(body, { status }));
      };
      const value: unknown = responseValue;
      return value instanceof Promise ? value.then(respond) : respond(value);
    });

  function admit(exchange: Exchange): Response | undefined {
    const { request, route } = exchange;
    // Refuse several Host headers, which Bun joins: a proxy may use another one of them than licmond (RFC
    // 9112, 3.2).
    if (request.headers.get("host")?.includes(","))
      throw new ApiError("INVALID_FIELD", "A request must have exactly one Host header.");
    const access = route?.access.get(request.method);
    const { caller, check } = access === "open" ? NOBODY : callerOf(exchange, access);
    // 2: the address's bucket, for requests without a valid key, including unknown paths and wrong methods.
    // A valid key does not use this bucket, so busy neighbors cannot block the key; therefore keys are
    // checked here (some µs). An empty bucket hides whether a key is valid, which slows down guessing.
    // Health, ping, docs and the page's files use no bucket.
    const isUnknown = caller === null || kindOf(caller.id) === "public";
    if (access !== "open" && isUnknown) limits.drawOfAddress(exchange);
    // 3: path and method. Elysia would answer 404 even if only the method is wrong.
    if (route === null) {
      const what = shown(exchange.path);
      throw new ApiError("NOT_FOUND", `Unknown ${what}; /swagger lists all paths.`);
    }
    if (access === undefined) {
      const headers = { allow: allowOf(route) };
      if (request.method === "OPTIONS") return new Response(null, { status: 204, headers });
      const message = `${route.path} accepts ${headers.allow}, not ${shown(request.method)}.`;
      throw new ApiError("METHOD_NOT_ALLOWED", message, { headers });
    }
    if (caller === null && check === null && isFirstRead(exchange))
      return new Response(null, { status: 204 });
    if (access !== "open") admitCaller(exchange, route, access, caller ?? refused(check, exchange));
    // 7: declared length of the body. A chunked body is counted while it is read.
    const maxBytes = maxBytesOf(exchange);
    if (Number(request.headers.get("content-length") ?? 0) > maxBytes) throw tooLarge(maxBytes);
    return undefined;
  }

  function maxBytesOf({ request, route }: Exchange): number {
    const maxBodyBytes = route?.maxBodyBytes ?? settings().maxBodyBytes;
    return route?.access.get(request.method) === "open"
      ? Math.min(OPEN_BODY_BYTES, maxBodyBytes)
      : maxBodyBytes;
  }

  function cookieIn(exchange: Exchange): string | null {
    const { request } = exchange;
    if (!request.headers.has("cookie")) return null;
    return cookieOf(request, cookieName(deps.installationId, exchange));
  }

  function about({ address, id: requestId, route }: Exchange) {
    return { address, requestId, path: route?.path };
  }

  /**
   * Finds the caller by key, socket, cookie or the proxy's user, in this order. A read without any of them gets the
   * viewer of `[page] public`. Without a caller, `check` has the reason.
   */
  function callerOf(exchange: Exchange, access: Access | undefined): Found {
    const { request } = exchange;
    const { page } = settings();
    const presented = presentedKey(exchange);
    const key = presented === null ? null : keys.verify(presented);
    if (key !== null) return { caller: key.outcome === "valid" ? key.key : null, check: key };
    const bySocket = arrivalOf(request)?.caller;
    if (bySocket !== undefined) return { caller: bySocket, check: null };
    const cookie = cookieIn(exchange);
    const check = cookie === null ? null : signIns.verify(cookie);
    if (check?.outcome === "valid") {
      exchange.signIn = check.signIn;
      return { caller: check.key, check };
    }
    const byProxy = access !== undefined && exchange.isProxied ? proxyCaller(request.headers, page) : null;
    if (byProxy !== null) return { caller: byProxy, check: null };
    // An ended sign-in is refused, except for the page's first reads, whose answer deletes the cookie.
    if (check !== null && !isFirstRead(exchange)) return { caller: null, check };
    if (check !== null) exchange.headers["set-cookie"] = endedCookie(deps.installationId, exchange);
    const isRead = request.method === "GET" || request.method === "HEAD";
    return { caller: isRead ? publicCaller(page, exchange.address) : null, check: null };
  }

  /** 4: caller. Throws the error for a request without a caller. */
  function refused(check: Found["check"], exchange: Exchange): never {
    // Ended sign-ins are normal and not logged.
    if (check !== null && check.outcome !== "valid" && check.outcome !== "ended") {
      const keyId = check.outcome === "invalid" ? null : check.key.id;
      authLog.warn("API key refused", { outcome: check.outcome, keyId, ...about(exchange) });
    }
    throw noCaller(check?.outcome ?? "missing");
  }

  function admitCaller(
    exchange: Exchange,
    route: KnownRoute,
    access: Exclude<Access, "open">,
    caller: KeyRecord,
  ): void {
    const { signIn } = exchange;
    exchange.caller = caller;
    const kind = kindOf(caller.id);
    if (kind === "key") keys.touch(caller.id, clock.now());
    // 5: the caller's bucket and quotas
    const isByProxy = kind === "proxy" && signIn === null;
    if (kind !== "public") limits.drawOfKey(exchange, caller, isByProxy ? caller.id : signIn?.id);
    // Browsers send these credentials with requests of any page, so check where the request comes from.
    if (signIn !== null || isByProxy) requirePage(exchange, settings().corsOrigins);
    if (signIn !== null) signIns.touch(signIn.id);
    // 6: role. Every requested command is in the audit trail.
    if (access === "execute_operator") exchange.acting = { message: "Command", fields: {} };
    if (!permits(caller, access))
      authLog.warn("API key lacks a permission", { keyId: caller.id, needed: access, ...about(exchange) });
    requirePermission(exchange, access);
    if (access === "people") requirePeople(exchange, settings().page.people);
    if ((access === "execute_operator" || access === "commands") && !execute.enabled) {
      const message = "Commands are off; set execute.enabled = true in the config.";
      throw new ApiError("AUTH_INSUFFICIENT", message);
    }
    if (route.path.startsWith("/ws/")) requireOwnPage(exchange, settings().corsOrigins);
  }

  /**
   * Adds the exchange's headers to its answer, counts the answer and logs it without the query, which may
   * contain a key. The route's own headers win, except `Vary`, which is merged. Does not use Elysia's
   * `set.headers`, because it rebuilds every streamed Response, which costs a large answer a tenth of its
   * rate.
   */
  function finish(exchange: Exchange, answer: Response): Response {
    if (exchange.answered) return answer;
    exchange.answered = true;
    for (const name in exchange.headers) {
      const own = answer.headers.get(name);
      if (own === null) answer.headers.set(name, exchange.headers[name] ?? "");
      else if (name === "vary") answer.headers.set(name, `${own}, ${exchange.headers[name]}`);
    }
    const { status } = answer;
    const { method } = exchange.request;
    const durationMs = performance.now() - exchange.startedAt;
    counters.count(method, exchange.route?.path ?? null, status, durationMs);
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
