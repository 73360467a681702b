import { ApiError } from "../domain/errors.ts";
import type { Log, LogFields } from "../domain/log.ts";
import type { Exchanges } from "./exchange.ts";

/** The trail of who did what, when and from where: log lines of source `audit`, which no clearing deletes. */
export interface Audit {
  done(request: Request, message: string, fields?: LogFields): void;
  /** It was asked for and not done, or failed; `outcome` is the error's code. */
  refused(request: Request, message: string, error: unknown, fields?: LogFields): void;
}

/** `address` is where a request came from, trusted proxies taken into account. */
export function createAudit(log: Log, exchanges: Exchanges, address: (request: Request) => string): Audit {
  const from = (request: Request) => {
    const { id, caller } = exchanges.of(request);
    return { by: caller?.id ?? null, address: address(request), requestId: id };
  };
  return {
    done: (request, message, fields = {}) =>
      log.info(message, { outcome: "ok", ...fields, ...from(request) }),
    refused(request, message, error, fields = {}) {
      const outcome = error instanceof ApiError ? error.code : "INTERNAL_ERROR";
      log.warn(message, { ...fields, outcome, ...from(request) });
    },
  };
}
