import { counter, type Emit, histogram, type Labels, labelsOf } from "../export/family.ts";
import { createHistogram, type Histogram } from "../export/meters.ts";

export const REQUESTS = {
  requests: counter(
    "licmond_http_requests_total",
    "Requests by method, route and status code (499: the client disconnected before the answer).",
  ),
  durations: histogram(
    "licmond_http_request_duration_seconds",
    "Time from a request to its answer, or to the start of a stream.",
  ),
} as const;

/** Methods with their own label. Clients may send any method, but labels need a bounded set. */
const METHODS = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);
/** Bounds of the buckets in seconds. */
const BOUNDS = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10];

export type RequestCounters = ReturnType<typeof createRequestCounters>;

export function createRequestCounters(now: () => number = () => performance.now()) {
  let lastAt = -Infinity;
  const statuses: Record<string, number> = {};
  const routes = new Map<string, { labels: Labels; codes: Record<string, number>; durations: Histogram }>();

  return {
    begun() {
      lastAt = now();
    },
    /** Returns the milliseconds since the last request; Infinity before the first. */
    unaskedMs: () => now() - lastAt,
    /** `route` is the pattern, e.g. `/api/licenses/servers/:id`; null for an unknown path. */
    count(sent: string, route: string | null, status: number, durationMs: number) {
      statuses[status] = (statuses[status] ?? 0) + 1;
      const method = METHODS.has(sent) ? sent : "other";
      const { codes, durations } = routes.getOrInsertComputed(`${method} ${route}`, () => ({
        labels: labelsOf({ method, route: route ?? "unknown" }),
        codes: {},
        durations: createHistogram(BOUNDS),
      }));
      codes[status] = (codes[status] ?? 0) + 1;
      durations.observe(durationMs / 1000);
    },
    byStatus: (): Readonly<Record<string, number>> => ({ ...statuses }),
    emit(emit: Emit) {
      for (const { labels, codes, durations } of routes.values()) {
        for (const [code, count] of Object.entries(codes))
          emit(REQUESTS.requests, [...labels, ["code", code]], count);
        durations.emit(emit, REQUESTS.durations, labels);
      }
    },
  };
}
