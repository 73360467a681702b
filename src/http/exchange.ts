import type { Server } from "bun";
import { type AnyElysia, Elysia } from "elysia";
import Memoirist from "memoirist";
import { ApiError, type ErrorCode } from "../domain/errors.ts";
import { type KeyRecord, PERMISSIONS, type Permission, permits } from "../domain/keys.ts";
import type { Log, LogFields } from "../domain/log.ts";
import { ROLES } from "../domain/words.ts";
import type { KeyCheck } from "../store/keys.ts";
import type { SignIn, SignInCheck } from "../store/sign-ins.ts";

/** What the gate knows of one request. It makes this before anything else, and hands it to the route. */
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
  /** Null when there is no such path. */
  readonly route: KnownRoute | null;
  /** The client's address, behind trusted proxies too; an IPv6 network instead of an address. */
  readonly address: string;
  /** The daemon's origin as the client sees it, TLS of a trusted proxy included; null where the Host is none. */
  readonly origin: string | null;
  /** What listens where it came; null where nothing does. */
  readonly listener: Server<unknown> | null;
  /** The key that holds, or what stands for one; null on open routes. */
  caller: KeyRecord | null;
  /** The sign-in of the browser that sent it, whose key is the caller; null when a key was sent, or a socket's caller. */
  signIn: SignIn | null;
  /** What the route is about to do: should it fail, the gate writes that into the audit trail. */
  acting: { readonly message: string; readonly fields: LogFields } | null;
  /** Headers of the answer, whatever it becomes; names in lower case. */
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

/** How the ids of callers by socket begin: ids of keys have no dash. */
export const SOCKET_CALLER = "socket-";
export const isSocketCaller = (keyId: string) => keyId.startsWith(SOCKET_CALLER);

// The gate sets it before a route runs.
const unset = null as unknown as Exchange;
/** Routes `.use` this and get the typed `exchange`. */
export const gated = new Elysia({ name: "gated" }).decorate("exchange", unset);

/** A route is open to everyone, or to keys with this permission. */
export type Access = "open" | Permission;

/** One path of the API with what the gate must know of it. */
export interface KnownRoute {
  readonly path: string;
  /** Access by method (HEAD as GET), in the order of `Allow`. */
  readonly access: Map<string, Access>;
  /** Takes the key as `?api_key=` too: streams, sockets and the calendar, whose clients cannot set headers. */
  keyInQuery: boolean;
  /** Some method of it takes a body. */
  takesBody: boolean;
}

/**
 * Finds the route of a path as sent; null when there is none, also where the path is not decodable. A trailing slash
 * is tolerated. The table is made of Elysia's own routes and with its router (https://github.com/SaltyAom/memoirist),
 * so that a permission is declared in one place and a route without one cannot be served. It is made at the first
 * request: by then every route is registered.
 */
export function createRouteTable(app: Pick<AnyElysia, "routes">): (path: string) => KnownRoute | null {
  let router: Memoirist<KnownRoute> | null = null;

  function build(): Memoirist<KnownRoute> {
    const routes = new Map<string, KnownRoute>();
    // Decoding throws where a part of the path is no percent-encoded UTF-8.
    const made = new Memoirist<KnownRoute>({ onParam: decodeURIComponent });
    for (const { method, path, hooks } of app.routes) {
      const { "x-permission": declaredAccess, "x-key-in-query": keyInQuery } = hooks.detail ?? {};
      const access = (["open", ...PERMISSIONS] as const).find((each) => each === declaredAccess);
      if (access === undefined) throw new Error(`${method} ${path} declares no permission`);
      const known = routes.get(path) ?? { path, access: new Map(), keyInQuery: false, takesBody: false };
      known.access.set(method, access);
      if (method === "GET") known.access.set("HEAD", access);
      known.keyInQuery ||= keyInQuery === true;
      known.takesBody ||= hooks.body !== undefined;
      if (!routes.has(path)) made.add("", path, known);
      routes.set(path, known);
    }
    return made;
  }

  return (path) => {
    router ??= build();
    try {
      return router.find("", path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path)?.store ?? null;
    } catch {
      return null;
    }
  };
}

/** The value of the header `Allow`. */
export function allowOf({ access }: KnownRoute): string {
  return [...access.keys(), "OPTIONS"].join(", ");
}

/** The key that a request presents; null when there is none. The header beats the query, X-API-Key beats Authorization. */
export function presentedKey({ request: { headers }, route, query }: Exchange): string | null {
  const own = headers.get("x-api-key")?.trim();
  if (own) return own;
  const bearer = /^bearer +(\S.*)$/i.exec(headers.get("authorization")?.trim() ?? "")?.[1];
  if (bearer) return bearer;
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
  const [code, message] = REFUSALS[check?.outcome ?? "missing"];
  throw new ApiError(code, message, { headers: { "www-authenticate": "Bearer" } });
}

/** Throws AUTH_INSUFFICIENT unless the caller has the permission; routes ask again for what one parameter needs. */
export function requirePermission({ caller }: Exchange, needed: Permission, subject = "This"): void {
  if (caller !== null && permits(caller, needed)) return;
  const roles = ROLES.filter((role) => permits({ role, anonymize: false }, needed)).join(" or ");
  const what = caller !== null && isSocketCaller(caller.id) ? "socket" : "key";
  const whose = caller?.anonymize
    ? "this key is an anonymized one"
    : `this ${what}'s role is ${caller?.role ?? "none"}`;
  throw new ApiError("AUTH_INSUFFICIENT", `${subject} needs a key with the role ${roles}; ${whose}.`);
}

export type Audit = ReturnType<typeof createAudit>;

/** The trail of who did what, when and from where: log lines of source `audit`, which no clearing deletes. */
export function createAudit(log: Log) {
  const from = ({ id, caller, address, signIn }: Exchange) => {
    const isBySocket = caller !== null && isSocketCaller(caller.id);
    const by = isBySocket ? { by: null, via: "socket", role: caller.role } : { by: caller?.id ?? null };
    return { ...by, ...(signIn !== null && { signIn: signIn.id }), address, requestId: id };
  };
  return {
    done: (exchange: Exchange, message: string, fields: LogFields = {}) =>
      log.info(message, { outcome: "ok", ...fields, ...from(exchange) }),
    /** What the route was about to do, if it said so, was not done or failed. */
    refused(exchange: Exchange, outcome: ErrorCode) {
      if (exchange.acting === null) return;
      const { message, fields } = exchange.acting;
      const durationMs = Math.round(performance.now() - exchange.startedAt);
      log.warn(message, { ...fields, durationMs, outcome, ...from(exchange) });
    },
  };
}
