import type { Log } from "../../domain/log.ts";
import type { Exchanges } from "../exchange.ts";
import type { RequestCounters } from "../request-counters.ts";
import type { LastStep } from "./answered.ts";

/** Counts and logs every answer. The query stays out: it may hold a key. */
export function accessLog(exchanges: Exchanges, counters: RequestCounters, log: Log): LastStep {
  return (request, { status }) => {
    const exchange = exchanges.find(request);
    const { method } = request;
    const durationMs = exchange === undefined ? null : performance.now() - exchange.startedAt;
    counters.count({ method, route: exchange?.route?.path ?? null, status, durationMs });
    log.debug("Request", {
      requestId: exchange?.id,
      method,
      path: exchange?.path.slice(0, 500),
      status,
      durationMs: durationMs === null ? undefined : Math.round(durationMs * 100) / 100,
      keyId: exchange?.caller?.id,
    });
  };
}
