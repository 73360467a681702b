import { Elysia } from "elysia";
import { Metrics } from "../../domain/service/status.ts";
import { summarise } from "../../domain/summary.ts";
import { iso } from "../../domain/time/clock.ts";
import { createExposition } from "../../export/exposition.ts";
import { CONTENT_TYPES, type TextFormat } from "../../export/family.ts";
import { metricsFormat, scrapeFormat, send } from "../answers/answer.ts";
import { documented } from "../docs/documented.ts";
import { type Exchange, gated } from "../exchange.ts";
import type { RouteDeps } from "./deps.ts";

/** Bodies of a text answer, for the document. */
export const TEXT_CONTENT = {
  "text/plain": { schema: { type: "string", description: "Prometheus text format 0.0.4" } },
  "application/openmetrics-text": { schema: { type: "string", description: "OpenMetrics 1.0" } },
};

/** One sample of the host, of the daemon's own counters and of these seats. */
export function sampleOf(
  { clock, host, daemon, requests }: Pick<RouteDeps, "clock" | "host" | "daemon" | "requests">,
  licenses: Metrics["licenses"],
): Metrics {
  const { cpu, memory, disk } = host.sample();
  const { polls, parseProblems, streamClients, ...process } = daemon.counters();
  const byStatus = requests.byStatus();
  return {
    type: "metrics",
    timestamp: iso(clock.now()),
    cpu,
    memory,
    system: { cpu, memory, disk },
    licenses,
    requests: { total: Object.values(byStatus).reduce((sum, count) => sum + count, 0), byStatus },
    polls,
    parseProblems,
    streamClients,
    process,
  };
}

/** The metrics event of the streams, plus the daemon's own counters; and the exposition for Prometheus. */
export function metricsRoutes(deps: RouteDeps) {
  const { live, meters, snapshotFor } = deps;
  const exposition = createExposition();
  /** Writes each picture once for all scrapers that see it alike. */
  async function scrape(exchange: Exchange, format: TextFormat): Promise<Response> {
    const body = await exposition.render(snapshotFor(exchange), meters, format);
    return send(exchange.request, { body, headers: { "content-type": CONTENT_TYPES[format] } });
  }

  return new Elysia({ name: "routes/metrics" })
    .use(gated)
    .get(
      "/api/metrics",
      ({ request, exchange }) => {
        const format = metricsFormat(request.headers.get("accept"));
        if (format !== "json") return scrape(exchange, format);
        const { seats, utilization } = summarise(live.snapshot());
        return sampleOf(deps, { total: seats.total, used: seats.used, utilization });
      },
      documented("read", "Service", "Load, seats and the daemon's own counters", {
        description: "With a Prometheus format in `Accept`, answers the same as `/metrics`.",
        answers: { 200: { description: "One sample", schema: Metrics, content: TEXT_CONTENT } },
      }),
    )
    .get(
      "/metrics",
      ({ request, exchange }) => scrape(exchange, scrapeFormat(request.headers.get("accept"))),
      documented("read", "Service", "Metrics for Prometheus", {
        description:
          "Servers, features, pools, polls, alerts and the daemon itself. OpenMetrics where `Accept` names it, else the " +
          "older text format. Stale numbers are left out; their state is shown. No label names a user.",
        answers: { 200: { description: "All metrics", content: TEXT_CONTENT } },
      }),
    );
}
