import { ApiError } from "../domain/errors.ts";
import type { KeyCheck } from "../store/key-book.ts";
import type { HttpDeps } from "./deps.ts";
import { type Exchange, validKey } from "./exchange.ts";
import type { Limits } from "./limits.ts";
import { kindOf } from "./without-key.ts";

type Deps = Pick<HttpDeps, "keys" | "log"> & { readonly limits: Limits };

/**
 * Counts a wrong key of a sign-in against the address, to slow down guessing, and logs it. Throws
 * RATE_LIMIT_EXCEEDED.
 */
export function createRefusalCount({ limits, log }: Pick<Deps, "limits" | "log">) {
  const authLog = log("auth");
  return (exchange: Exchange, outcome: KeyCheck["outcome"] | "code" | "another key"): void => {
    limits.drawOfAddress(exchange);
    authLog.warn("Sign-in refused", { outcome, address: exchange.address, requestId: exchange.id });
  };
}

/**
 * Requires a browser to send its key again, so that a stolen cookie cannot create a key. Does nothing for
 * requests with a key. A browser that signed in with a link from the daemon's own host has no key and may
 * send any admin's key. Throws MISSING_FIELD, or the errors of a sign-in with a wrong key.
 */
export function createConfirm(deps: Deps) {
  const countRefusal = createRefusalCount(deps);
  return (exchange: Exchange, confirm: string | undefined): void => {
    const { signIn } = exchange;
    if (signIn === null) return;
    if (confirm === undefined)
      throw new ApiError("MISSING_FIELD", 'Field "confirm" is missing: it must be the key that signed in.');
    const check = deps.keys.verify(confirm);
    if (check.outcome !== "valid") countRefusal(exchange, check.outcome);
    const { id, role } = validKey(check);
    const isOwn = kindOf(signIn.keyId) === "key" ? id === signIn.keyId : role === "admin";
    if (isOwn) return;
    countRefusal(exchange, "another key");
    throw new ApiError(
      "AUTH_INVALID",
      'Field "confirm" must be the key that signed in; this is another key.',
    );
  };
}
