import { ApiError } from "../domain/errors.ts";
import { type KeyRecord, type Permission, permits } from "../domain/keys.ts";
import { ROLES } from "../domain/words.ts";
import type { KeyCheck } from "../store/keys.ts";
import type { Exchange } from "./exchange.ts";

/** The key that a request presents; null when there is none. The header beats the query, X-API-Key beats Authorization. */
export function presentedKey(request: Request, { route, query }: Exchange): string | null {
  const own = request.headers.get("x-api-key")?.trim();
  if (own) return own;
  const bearer = /^bearer +(\S.*)$/i.exec(request.headers.get("authorization")?.trim() ?? "")?.[1];
  if (bearer) return bearer;
  if (route?.keyInQuery !== true) return null;
  return new URLSearchParams(query).get("api_key") || null;
}

const REFUSALS = {
  missing: [
    "AUTH_MISSING",
    "This needs an API key. Send it as X-API-Key: lmk_… or Authorization: Bearer lmk_….",
  ],
  invalid: ["AUTH_INVALID", "This API key is not known here."],
  expired: ["AUTH_EXPIRED", "This API key has expired. Ask an administrator for a new one."],
  revoked: ["AUTH_REVOKED", "This API key was revoked. Ask an administrator for a new one."],
} as const;

/** The key itself when it holds. Throws AUTH_MISSING, AUTH_INVALID, AUTH_EXPIRED or AUTH_REVOKED. */
export function validKey(check: KeyCheck | null): KeyRecord {
  if (check?.outcome === "valid") return check.key;
  const [code, message] = REFUSALS[check?.outcome ?? "missing"];
  throw new ApiError(code, message, { headers: { "www-authenticate": "Bearer" } });
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
