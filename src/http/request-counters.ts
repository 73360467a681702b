import { counter, type Emit, histogram, type Labels } from "../export/family.ts";
import { createHistogram, type Histogram } from "../export/meters.ts";

export const REQUESTS = {
  requests: counter(
    "licmond_http_requests_total",
    "Requests answered, by method, route and status code (499: the client went away before).",
  ),
  durations: histogram(
    "licmond_http_request_duration_seconds",
    "Time from a request to its answer; of streams to their begin.",
  ),
} as const;

/** An answer as it is counted. */
export interface CountedAnswer {
  readonly method: string;
  /** The route's pattern, e.g. `/api/licenses/servers/:id`; null when there is no such path. */
  readonly route: string | null;
  readonly status: number;
  readonly durationMs: number | null;
}

/** Requests since the start. */
export interface RequestCounters {
  /** A request has come. */
  begun(): void;
  /** Milliseconds since the last request came; Infinity before the first. */
  unaskedMs(): number;
  /** One was answered. */
  count(answer: CountedAnswer): void;
  byStatus(): Readonly<Record<string, number>>;
  emit(emit: Emit): void;
}

/** What clients send as a method may be anything; labels may not. */
const METHODS = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);
/** Seconds. */
const BOUNDS = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10];

interface Counted {
  readonly labels: Labels;
  readonly codes: Map<number, number>;
  readonly durations: Histogram;
}

export function createRequestCounters(now: () => number = () => performance.now()): RequestCounters {
  let lastAt = -Infinity;
  const statuses = new Map<number, number>();
  /** By route, then by method. */
  const routes = new Map<string, Map<string, Counted>>();

  function countedOf(method: string, route: string): Counted {
    let methods = routes.get(route);
    if (methods === undefined) {
      methods = new Map();
      routes.set(route, methods);
    }
    let counted = methods.get(method);
    if (counted === undefined) {
      const labels: Labels = [
        ["method", method],
        ["route", route],
      ];
      counted = { labels, codes: new Map(), durations: createHistogram(BOUNDS) };
      methods.set(method, counted);
    }
    return counted;
  }

  return {
    begun() {
      lastAt = now();
    },
    unaskedMs: () => now() - lastAt,
    count({ method, route, status, durationMs }) {
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      const { codes, durations } = countedOf(METHODS.has(method) ? method : "other", route ?? "unknown");
      codes.set(status, (codes.get(status) ?? 0) + 1);
      if (durationMs !== null) durations.observe(durationMs / 1000);
    },
    byStatus: () =>
      Object.fromEntries([...statuses].sort(([a], [b]) => a - b).map(([k, v]) => [String(k), v])),
    emit(emit) {
      for (const methods of routes.values()) {
        for (const { labels, codes, durations } of methods.values()) {
          for (const [code, count] of codes)
            emit(REQUESTS.requests, [...labels, ["code", String(code)]], count);
          durations.emit(emit, REQUESTS.durations, labels);
        }
      }
    },
  };
}
