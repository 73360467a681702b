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
/** Nothing of the API is a page. The pages (docs) send their own policy, which beats this one. */
const ALWAYS = {
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
};
/** Shared caches must not mix up keys and formats. */
const OF_API = { "cache-control": "private, no-cache", vary: "Accept, X-API-Key, Authorization, Cookie" };
/**
 * Sent over TLS: browsers stay with TLS. For a day only, because it applies to all ports of the host name,
 * and license managers have plain pages.
 */
const OVER_TLS = { "strict-transport-security": "max-age=86400" };

/**
 * The parts of the root app that the gate needs: its routes, and the listening server, which knows the
 * connection.
 */
export type Root = Pick<AnyElysia, "routes" | "server">;

/** State of one request. The gate creates it first and passes it to the route. */
export interface Exchange {
  readonly request: Request;
  /** The request's id: the client's own or a UUIDv7. */
  readonly id: string;
  /** Path as sent (percent-encoded), without query. */
  readonly path: string;
  /** Query as sent, without `?`. May hold an `api_key`: never to be logged. */
  readonly query: string;
  /** Milliseconds of the monotonic clock. */
  readonly startedAt: number;
  /** Null for an unknown path. */
  readonly route: KnownRoute | null;
  /** The client's address, behind trusted proxies too; an IPv6 network instead of an address. */
  readonly address: string;
  /**
   * The daemon's origin as the client sees it, with the TLS of a trusted proxy; null without a valid Host.
   */
  readonly origin: string | null;
  /** Whether a trusted proxy sent it. */
  readonly isProxied: boolean;
  /** The listener that accepted the request; null without one. */
  readonly listener: Server<unknown> | null;
  /** The accepted key or its stand-in; null on open routes. */
  caller: KeyRecord | null;
  /** The sign-in of the browser that sent it, whose key is the caller; null when a key was sent, or a socket's caller. */
  signIn: SignIn | null;
  /** Of which site the rows of its answer are. */
  readonly ofSite: OfSite;
  /** At a hub: the sites that the query names, where it names no servers and labels besides. */
  sites?: readonly string[];
  /** The action that the route is about to take. If it fails, the gate writes it to the audit trail. */
  acting: { readonly message: string; readonly fields: LogFields } | null;
  /** Headers of the answer, with lower-case names. */
  readonly headers: Record<string, string>;
  /** True once the answer has its headers and is counted. */
  answered: boolean;
}

/** By which Unix socket a request came. */
interface Arrival {
  /** Stands for a key. */
  readonly caller: KeyRecord;
  readonly server: Server<unknown>;
}

const arrivals = new WeakMap<Request, Arrival>();
export const arrivedBySocket = (request: Request, by: Arrival) => void arrivals.set(request, by);
/** Null for a request that came by the port. */
export const arrivalOf = (request: Request): Arrival | null => arrivals.get(request) ?? null;

// The gate sets it before a route runs.
const unset = null as unknown as Exchange;
/** Routes `.use` this and get the typed `exchange`. */
export const gated = new Elysia({ name: "gated" }).decorate("exchange", unset);

/** Makes the exchange of a request, at the head of the gate. */
export function createExchanges(root: Root, settings: HttpDeps["settings"]): (request: Request) => Exchange {
  const findRoute = createRouteTable(root);
  const address = createClientAddress(
    (request) => root.server?.requestIP(request)?.address ?? null,
    () => settings().trustedProxies,
  );

  return (request) => {
    // Its client's own when it is harmless.
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
    // A trusted proxy may have taken TLS off.
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
 * Path and query of a request's URL, as sent: no decoding, no normalising, so that the gate and the router see the
 * same. Bun gives a URL without scheme and host where the Host header is missing (HTTP/1.0) or invalid.
 */
function splitUrl(url: string): { path: string; query: string } {
  const [, path, query = ""] = /^(?:[a-z]+:\/\/[^/]*)?([^?#]*)(?:\?([^#]*))?/.exec(url) ?? [];
  return { path: path || "/", query };
}

/** The subprotocol that a WebSocket offers before its key, and that is accepted. */
export const KEY_PROTOCOL = "api_key";

/**
 * The key that a WebSocket offers as its second subprotocol, behind `api_key`: a browser's can set no other header. Null
 * if the first one is another.
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
    "This needs an API key. Send it as X-API-Key: lmk_… or Authorization: Bearer lmk_….",
  ],
  invalid: ["AUTH_INVALID", "This API key is not known here."],
  expired: ["AUTH_EXPIRED", "This API key has expired. Ask an administrator for a new one."],
  revoked: ["AUTH_REVOKED", "This API key was revoked. Ask an administrator for a new one."],
  ended: ["AUTH_EXPIRED", "This sign-in has ended, or is not known here. Sign in again."],
} as const;

/** The key itself when it holds. Throws AUTH_MISSING, AUTH_INVALID, AUTH_EXPIRED or AUTH_REVOKED. */
export function validKey(check: KeyCheck | SignInCheck | null): KeyRecord {
  if (check?.outcome === "valid") return check.key;
  throw noCaller(check?.outcome ?? "missing");
}

export function noCaller(why: keyof typeof REFUSALS | "valid"): ApiError {
  const [code, message] = REFUSALS[why === "valid" ? "missing" : why];
  return new ApiError(code, message, { headers: { "www-authenticate": "Bearer" } });
}

export function callerOf({ caller }: Exchange): KeyRecord {
  // The gate admits no request without a caller.
  if (caller === null) throw new Error("A caller is needed");
  return caller;
}

/** Throws AUTH_INSUFFICIENT unless the caller has the permission; routes ask again for what one parameter needs. */
export function requirePermission(
  { caller }: Pick<Exchange, "caller">,
  needed: Permission,
  subject = "This",
): void {
  if (caller !== null && permits(caller, needed)) return;
  const roles = ROLES.filter((role) => permits({ role, anonymize: false }, needed)).join(" or ");
  const kind = kindOf(caller?.id ?? "");
  let whose = `this ${kind === "socket" ? kind : "key"}'s role is ${caller?.role ?? "none"}`;
  if (caller?.anonymize) whose = "this key is an anonymized one";
  if (kind === "public") whose = "without one [page] public in the config does not let it be seen";
  if (kind === "proxy") whose = `the proxy's user is ${caller?.role}`;
  throw new ApiError("AUTH_INSUFFICIENT", `${subject} needs a key with the role ${roles}; ${whose}.`);
}

/** Throws AUTH_INSUFFICIENT for callers to whom labels of servers are not shown: filters must not reveal them. */
export function requireLabels(exchange: Pick<Exchange, "caller">): void {
  requirePermission(exchange, "details", "Filtering and grouping by label");
}

/** Throws AUTH_INSUFFICIENT where `[page] people` keeps answers about one person from the caller. */
export function requirePeople({ caller }: Exchange, from: HttpSettings["page"]["people"], hint = ""): void {
  const role = caller?.role ?? "none";
  if (from === "viewer" || (from === "operator" && (role === "operator" || role === "admin"))) return;
  const setting = `[page] people = "${from}" in the config`;
  const what =
    from === "off"
      ? `Answers about one person are off: ${setting}.`
      : `Answers about one person need the role operator or admin (${setting}); this key's role is ${role}.`;
  throw new ApiError("AUTH_INSUFFICIENT", hint === "" ? what : `${what} ${hint}`);
}

export type Audit = ReturnType<typeof createAudit>;

/** The trail of who did what, when and from where: log lines of source `audit`, which no clearing deletes. */
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
    /** Writes the announced action to the audit trail as refused or failed. */
    refused(exchange: Exchange, outcome: ErrorCode) {
      if (exchange.acting === null) return;
      const { message, fields } = exchange.acting;
      const durationMs = Math.round(performance.now() - exchange.startedAt);
      log.warn(message, { ...fields, durationMs, outcome, ...from(exchange) });
    },
  };
}
