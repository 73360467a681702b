import type { Server } from "bun";
import { type AnyElysia, Elysia } from "elysia";
import { ApiError, type ErrorCode } from "../domain/errors.ts";
import { type KeyRecord, type Permission, permits } from "../domain/keys.ts";
import type { Log, LogFields } from "../domain/log.ts";
import { ROLES } from "../domain/words.ts";
import type { KeyCheck } from "../store/key-book.ts";
import type { SignIn, SignInCheck } from "../store/sign-in-book.ts";
import type { OfSite } from "./answers/answer.ts";
import { createClientAddress } from "./client-address.ts";
import type { HttpDeps, HttpSettings } from "./deps.ts";
import { createRouteTable, type KnownRoute } from "./route-table.ts";
import { kindOf } from "./without-key.ts";

const CLIENT_ID = /^[A-Za-z0-9._-]{1,128}$/;
/** Headers of all answers. Documents replace the policy, which is for the API, by their own. */
const ALWAYS = {
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
};
/** Headers of the API's answers. They keep shared caches from mixing up keys and formats. */
const OF_API = { "cache-control": "private, no-cache", vary: "Accept, X-API-Key, Authorization, Cookie" };
/**
 * Header of answers over TLS. The time is short, because it applies to all ports of the host, where license
 * managers may have plain pages.
 */
const OVER_TLS = { "strict-transport-security": "max-age=86400" };

/** Parts of the root app that the gate needs. */
export type Root = Pick<AnyElysia, "routes" | "server">;

/** State of one request, created by the gate. */
export interface Exchange {
  readonly request: Request;
  /** Id of the request: the client's id, or else a UUIDv7. */
  readonly id: string;
  /** Path, percent-encoded as sent, without the query. */
  readonly path: string;
  /** Query as sent, without `?`. May contain an `api_key`, so never log it. */
  readonly query: string;
  /** Monotonic start time, ms. */
  readonly startedAt: number;
  /** Route of the path; null if the path is unknown. */
  readonly route: KnownRoute | null;
  /** Address of the client, also behind trusted proxies. A network instead of an address for IPv6. */
  readonly address: string;
  /** The daemon's origin as the client sees it, with TLS of a trusted proxy; null without a valid Host. */
  readonly origin: string | null;
  /** Whether a trusted proxy sent the request. */
  readonly isProxied: boolean;
  /** Listener that accepted the request; null without one. */
  readonly listener: Server<unknown> | null;
  /** The accepted key, or a stand-in for callers without a key; null on open routes. */
  caller: KeyRecord | null;
  /** The browser's sign-in; null if a key or a socket identified the caller. */
  signIn: SignIn | null;
  readonly ofSite: OfSite;
  /** At a hub: sites named by the query, if the query names no servers or labels. */
  sites?: readonly string[];
  /** The action that the route is about to take. If it fails, the gate adds it to the audit trail. */
  acting: { readonly message: string; readonly fields: LogFields } | null;
  /** Headers of the answer in lower case. */
  readonly headers: Record<string, string>;
  /** Set once the answer has its headers and is counted. */
  answered: boolean;
}

/** The Unix socket of a request. */
interface Arrival {
  readonly caller: KeyRecord;
  readonly server: Server<unknown>;
}

const arrivals = new WeakMap<Request, Arrival>();
export const arrivedBySocket = (request: Request, by: Arrival) => void arrivals.set(request, by);
/** Returns null for a request by TCP. */
export const arrivalOf = (request: Request): Arrival | null => arrivals.get(request) ?? null;

// Placeholder: the gate sets the exchange before a route runs.
const unset = null as unknown as Exchange;
/** Routes `.use` this to get the typed `exchange`. */
export const gated = new Elysia({ name: "gated" }).decorate("exchange", unset);

export function createExchanges(root: Root, settings: HttpDeps["settings"]): (request: Request) => Exchange {
  const findRoute = createRouteTable(root);
  const address = createClientAddress(
    (request) => root.server?.requestIP(request)?.address ?? null,
    () => settings().trustedProxies,
  );

  return (request) => {
    const sent = request.headers.get("x-request-id");
    const id = sent !== null && CLIENT_ID.test(sent) ? sent : Bun.randomUUIDv7();
    const { path, query } = splitUrl(request.url);
    const isApi = path.startsWith("/api") || path.startsWith("/metrics");
    const arrival = arrivalOf(request);
    return {
      request,
      id,
      path,
      query,
      startedAt: performance.now(),
      route: findRoute(path),
      get address() {
        return address.of(request);
      },
      get origin() {
        return originOf(request);
      },
      get isProxied() {
        return address.behindProxy(request);
      },
      get listener() {
        return arrival?.server ?? root.server;
      },
      ofSite: settings().ofSite,
      caller: null,
      signIn: null,
      acting: null,
      headers: { "x-request-id": id, ...ALWAYS, ...(isTls() && OVER_TLS), ...(isApi && OF_API) },
      answered: false,
    };
  };

  function originOf(request: Request): string | null {
    // A trusted proxy may terminate TLS, so use the scheme that it reports.
    const forwarded = address.behindProxy(request) ? request.headers.get("x-forwarded-proto") : null;
    const isHttps = forwarded === null ? isTls() : forwarded.trim().toLowerCase() === "https";
    const own = `${isHttps ? "https" : "http"}://${request.headers.get("host") ?? ""}`;
    return URL.parse(own)?.origin ?? null;
  }

  function isTls(): boolean {
    return root.server?.protocol === "https";
  }
}

/**
 * Splits a URL without decoding or normalizing, so that gate and router see the same path. Without a valid Host
 * header (HTTP/1.0), Bun's URL has no scheme and host.
 */
function splitUrl(url: string): { path: string; query: string } {
  const [, path, query = ""] = /^(?:[a-z]+:\/\/[^/]*)?([^?#]*)(?:\?([^#]*))?/.exec(url) ?? [];
  return { path: path || "/", query };
}

/**
 * Subprotocol that a WebSocket offers before its key. The server accepts this subprotocol, so its answer
 * does not repeat the key.
 */
export const KEY_PROTOCOL = "api_key";

/**
 * Returns the key that a WebSocket offers as its second subprotocol, after `api_key`: browsers cannot set headers.
 */
export function keyOfProtocols({ headers }: Request): string | null {
  const [first, key = ""] = headers.get("sec-websocket-protocol")?.split(",") ?? [];
  return first?.trim() === KEY_PROTOCOL ? key.trim() : null;
}

/**
 * Returns the key that a request presents; null without one. Headers precede the query, X-API-Key
 * precedes Authorization.
 */
export function presentedKey({ request, route, query }: Exchange): string | null {
  const { headers } = request;
  const own = headers.get("x-api-key")?.trim();
  if (own) return own;
  const authorized = /^(?:bearer|apikey) +(\S.*)$/i.exec(headers.get("authorization")?.trim() ?? "")?.[1];
  if (authorized) return authorized;
  const offered = route?.path.startsWith("/ws/") ? keyOfProtocols(request) : null;
  if (offered) return offered;
  return (route?.keyInQuery && new URLSearchParams(query).get("api_key")) || null;
}

const REFUSALS = {
  missing: [
    "AUTH_MISSING",
    "An API key is required. Send it as X-API-Key: lmk_… or Authorization: Bearer lmk_….",
  ],
  invalid: ["AUTH_INVALID", "Unknown API key."],
  expired: ["AUTH_EXPIRED", "This API key has expired. Ask an administrator for a new one."],
  revoked: ["AUTH_REVOKED", "This API key was revoked. Ask an administrator for a new one."],
  ended: ["AUTH_EXPIRED", "This sign-in has ended or is unknown. Sign in again."],
} as const;

/** Returns the key of a valid check. Throws AUTH_MISSING, AUTH_INVALID, AUTH_EXPIRED or AUTH_REVOKED. */
export function validKey(check: KeyCheck | SignInCheck | null): KeyRecord {
  if (check?.outcome === "valid") return check.key;
  throw noCaller(check?.outcome ?? "missing");
}

export function noCaller(why: keyof typeof REFUSALS | "valid"): ApiError {
  const [code, message] = REFUSALS[why === "valid" ? "missing" : why];
  return new ApiError(code, message, { headers: { "www-authenticate": "Bearer" } });
}

export function callerOf({ caller }: Exchange): KeyRecord {
  if (caller === null) throw new Error("A caller is needed");
  return caller;
}

/**
 * Throws AUTH_INSUFFICIENT unless the caller has the permission. Routes call it for parameters that need more than
 * the route.
 */
export function requirePermission(
  { caller }: Pick<Exchange, "caller">,
  needed: Permission,
  subject = "This",
): void {
  if (caller !== null && permits(caller, needed)) return;
  const roles = ROLES.filter((role) => permits({ role, anonymize: false }, needed)).join(" or ");
  const kind = kindOf(caller?.id ?? "");
  let whose = `this ${kind === "socket" ? kind : "key"}'s role is ${caller?.role ?? "none"}`;
  if (caller?.anonymize) whose = "this key is anonymized";
  if (kind === "public") whose = "without a key, [page] public in the config does not allow it";
  if (kind === "proxy") whose = `the proxy's user is ${caller?.role}`;
  throw new ApiError("AUTH_INSUFFICIENT", `${subject} needs a key with the role ${roles}; ${whose}.`);
}

/** Throws AUTH_INSUFFICIENT for callers that may not see labels, because a filter would reveal them. */
export function requireLabels(exchange: Pick<Exchange, "caller">): void {
  requirePermission(exchange, "details", "Filtering and grouping by label");
}

/** Throws AUTH_INSUFFICIENT unless `[page] people` lets the caller query a single person. */
export function requirePeople({ caller }: Exchange, from: HttpSettings["page"]["people"], hint = ""): void {
  const role = caller?.role ?? "none";
  if (from === "viewer" || (from === "operator" && (role === "operator" || role === "admin"))) return;
  const setting = `[page] people = "${from}" in the config`;
  const what =
    from === "off"
      ? `Queries about one person are disabled: ${setting}.`
      : `Queries about one person require the role operator or admin (${setting}); this key's role is ${role}.`;
  throw new ApiError("AUTH_INSUFFICIENT", hint === "" ? what : `${what} ${hint}`);
}

export type Audit = ReturnType<typeof createAudit>;

/** Creates the audit trail: log lines of source `audit`, which cannot be cleared. */
export function createAudit(log: Log) {
  const from = ({ id, caller, address, signIn }: Exchange) => {
    const via = kindOf(caller?.id ?? "");
    const user = via === "proxy" && { user: caller?.name };
    const by = via === "key" ? { by: caller?.id ?? null } : { by: null, via, ...user, role: caller?.role };
    return { ...by, ...(signIn !== null && { signIn: signIn.id }), address, requestId: id };
  };
  return {
    done: (exchange: Exchange, message: string, fields: LogFields = {}) =>
      log.info(message, { outcome: "ok", ...fields, ...from(exchange) }),
    /** Logs the announced action as refused or failed. */
    refused(exchange: Exchange, outcome: ErrorCode) {
      if (exchange.acting === null) return;
      const { message, fields } = exchange.acting;
      const durationMs = Math.round(performance.now() - exchange.startedAt);
      log.warn(message, { ...fields, durationMs, outcome, ...from(exchange) });
    },
  };
}
