import { Elysia } from "elysia";
import type { Log } from "../../domain/log.ts";
import type { Exchanges } from "../exchange.ts";

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

/**
 * Counts and logs every answer with its final status. It wraps the handler because Elysia's afterResponse sees
 * what a route returned, not what was sent (304 and errors differ). The query stays out: it may hold a key.
 */
export function accessLog(exchanges: Exchanges, counters: RequestCounters, log: Log) {
  const answered = (request: Request, response: Response): Response => {
    counters.count(response.status);
    const exchange = exchanges.find(request);
    log.debug("Request", {
      requestId: exchange?.id,
      method: request.method,
      path: exchange?.path.slice(0, 500),
      status: response.status,
      durationMs: exchange && Math.round((performance.now() - exchange.startedAt) * 100) / 100,
      keyId: exchange?.caller?.id,
    });
    return response;
  };
  return new Elysia({ name: "access-log" }).wrap((handle) => (request: Request, ...rest: unknown[]) => {
    const result: unknown = (handle as (request: Request, ...rest: unknown[]) => unknown)(request, ...rest);
    if (result instanceof Promise) return result.then((response: Response) => answered(request, response));
    return result instanceof Response ? answered(request, result) : result;
  });
}
