import type { Log } from "../../domain/log.ts";
import type { Exchanges } from "../exchange.ts";
import type { LastStep } from "./answered.ts";

/** Requests answered since the start, by status. */
export interface RequestCounters {
  count(status: number): void;
  byStatus(): Readonly<Record<string, number>>;
}

export function createRequestCounters(): RequestCounters {
  const counts = new Map<number, number>();
  return {
    count: (status) => counts.set(status, (counts.get(status) ?? 0) + 1),
    byStatus: () => Object.fromEntries([...counts].sort(([a], [b]) => a - b).map(([k, v]) => [String(k), v])),
  };
}

/** Counts and logs every answer. The query stays out: it may hold a key. */
export function accessLog(exchanges: Exchanges, counters: RequestCounters, log: Log): LastStep {
  return (request, { status }) => {
    counters.count(status);
    const exchange = exchanges.find(request);
    log.debug("Request", {
      requestId: exchange?.id,
      method: request.method,
      path: exchange?.path.slice(0, 500),
      status,
      durationMs: exchange && Math.round((performance.now() - exchange.startedAt) * 100) / 100,
      keyId: exchange?.caller?.id,
    });
  };
}
