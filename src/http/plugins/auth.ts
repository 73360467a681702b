import { Elysia } from "elysia";
import type { Clock } from "../../domain/clock.ts";
import { ApiError } from "../../domain/errors.ts";
import { type KeyRecord, type Permission, permits } from "../../domain/keys.ts";
import type { Log } from "../../domain/log.ts";
import { ROLES } from "../../domain/words.ts";
import type { KeyCheck } from "../../store/keys.ts";
import type { Audit } from "../audit.ts";
import type { KeysPort } from "../deps.ts";
import type { Exchange, Exchanges } from "../exchange.ts";
import type { ClientAddress } from "../limits/client-address.ts";

const HOW = "Send it as X-API-Key: lmk_… or Authorization: Bearer lmk_….";
const CHALLENGE = { "www-authenticate": "Bearer" };

/** What the key check needs. */
export interface AuthDeps {
  readonly keys: Pick<KeysPort, "verify" | "touch">;
  readonly clock: Clock;
  readonly address: Pick<ClientAddress, "of">;
  /** Log of the source `auth`. */
  readonly log: Log;
}

/** Step 4: the key. Open routes ask for none and look at none. */
export function authentication(exchanges: Exchanges, { keys, clock, address, log }: AuthDeps) {
  return new Elysia({ name: "authentication" }).onRequest(({ request }) => {
    const exchange = exchanges.of(request);
    if (neededPermission(exchange, request.method) === null) return;
    const check = checkKey(request, exchange, keys);
    if (check === null) {
      throw new ApiError("AUTH_MISSING", `This needs an API key. ${HOW}`, { headers: CHALLENGE });
    }
    exchange.caller = valid(check, exchange, request);
    keys.touch(exchange.caller.id, clock.now());
  });

  function valid(check: KeyCheck, exchange: Exchange, request: Request): KeyRecord {
    if (check.outcome === "valid") return check.key;
    log.warn("API key refused", {
      outcome: check.outcome,
      keyId: check.outcome === "invalid" ? null : check.key.id,
      address: address.of(request),
      requestId: exchange.id,
      path: exchange.route?.path,
    });
    if (check.outcome === "expired") {
      throw new ApiError("AUTH_EXPIRED", "This API key has expired. Ask an administrator for a new one.", {
        headers: CHALLENGE,
      });
    }
    if (check.outcome === "revoked") {
      throw new ApiError("AUTH_REVOKED", "This API key was revoked. Ask an administrator for a new one.", {
        headers: CHALLENGE,
      });
    }
    throw new ApiError("AUTH_INVALID", "This API key is not known here.", { headers: CHALLENGE });
  }
}

/** What comes of the key that a request presents, checked once; null when it presents none. */
export function checkKey(
  request: Request,
  exchange: Exchange,
  keys: Pick<KeysPort, "verify">,
): KeyCheck | null {
  if (exchange.keyCheck === undefined) {
    const presented = presentedKey(request, exchange);
    exchange.keyCheck = presented === null ? null : keys.verify(presented);
  }
  return exchange.keyCheck;
}

/** Step 6: what the key's role permits. */
export function authorisation(
  exchanges: Exchanges,
  { audit, address, log }: Pick<AuthDeps, "address" | "log"> & { readonly audit: Audit },
) {
  return new Elysia({ name: "authorisation" }).onRequest(({ request }) => {
    const exchange = exchanges.of(request);
    const needed = neededPermission(exchange, request.method);
    if (needed === null) return;
    try {
      requirePermission(exchange, needed);
    } catch (error) {
      log.warn("API key lacks a permission", {
        keyId: exchange.caller?.id,
        needed,
        address: address.of(request),
        requestId: exchange.id,
        path: exchange.route?.path,
      });
      if (needed === "execute_operator") audit.refused(request, "Command", error);
      throw error;
    }
  });
}

/** Throws AUTH_INSUFFICIENT unless the caller has the permission; routes ask again for what one parameter needs. */
export function requirePermission({ caller }: Exchange, needed: Permission, what = "This"): void {
  if (caller !== null && permits(caller, needed)) return;
  const roles = ROLES.filter((role) => permits({ role, anonymize: false }, needed)).join(" or ");
  const whose = caller?.anonymize
    ? "this key is an anonymized one"
    : `this key's role is ${caller?.role ?? "none"}`;
  throw new ApiError("AUTH_INSUFFICIENT", `${what} needs a key with the role ${roles}; ${whose}.`);
}

function neededPermission({ route }: Exchange, method: string) {
  const access = route?.access.get(method);
  if (access === undefined) throw new Error("The key is asked for before the path is known");
  return access === "open" ? null : access;
}

/** The header beats the query, and X-API-Key beats Authorization. An empty one counts as none. */
function presentedKey(request: Request, { route, query }: Exchange): string | null {
  const own = request.headers.get("x-api-key")?.trim();
  if (own) return own;
  const bearer = /^bearer +(\S.*)$/i.exec(request.headers.get("authorization")?.trim() ?? "")?.[1];
  if (bearer) return bearer;
  if (route?.keyInQuery !== true) return null;
  return new URLSearchParams(query).get("api_key") || null;
}
