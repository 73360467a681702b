import type { ErrorCode } from "../domain/errors.ts";
import type { Log, LogFields } from "../domain/log.ts";
import type { Exchange } from "./exchange.ts";

/** The trail of who did what, when and from where: log lines of source `audit`, which no clearing deletes. */
export interface Audit {
  done(exchange: Exchange, message: string, fields?: LogFields): void;
  /** It was asked for and not done, or failed. */
  refused(exchange: Exchange, acting: NonNullable<Exchange["acting"]>, outcome: ErrorCode): void;
}

export function createAudit(log: Log): Audit {
  const from = ({ id, caller, address }: Exchange) => ({ by: caller?.id ?? null, address, requestId: id });
  return {
    done: (exchange, message, fields = {}) =>
      log.info(message, { outcome: "ok", ...fields, ...from(exchange) }),
    refused(exchange, { message, fields }, outcome) {
      const durationMs = Math.round(performance.now() - exchange.startedAt);
      log.warn(message, { ...fields, durationMs, outcome, ...from(exchange) });
    },
  };
}
