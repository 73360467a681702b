import { Elysia } from "elysia";
import { Metrics } from "../../domain/service/status.ts";
import { summarise } from "../../domain/summary.ts";
import { iso } from "../../domain/time/clock.ts";
import { createExposition } from "../../export/exposition.ts";
import { CONTENT_TYPES, type TextFormat } from "../../export/family.ts";
import { metricsFormat, scrapeFormat, send } from "../answers/answer.ts";
import { documented } from "../docs/documented.ts";
import { type Exchange, gated } from "../exchange.ts";
import { SITE } from "../lists/lists.ts";
import { NAMED, queryOf, type Values } from "../query.ts";
import type { RouteDeps } from "./deps.ts";

const TEXT_CONTENT = {
  "text/plain": { schema: { type: "string", description: "Prometheus text format 0.0.4" } },
  "application/openmetrics-text": { schema: { type: "string", description: "OpenMetrics 1.0" } },
};
const CHOSEN = { ...SITE, server: NAMED.server, label: NAMED.label };
type Chosen = Values<typeof CHOSEN>;

/** Metrics of one daemon, or of the chosen servers of a fleet. */
export interface MetricsSource {
  readonly ofSites: boolean;
  /** Returns the seats for a sample. */
  seats(query: Chosen): Metrics["licenses"] | Promise<Metrics["licenses"]>;
  /** Writes all metrics as text. */
  render(exchange: Exchange, query: Chosen, format: TextFormat): Promise<Uint8Array<ArrayBuffer>>;
}

/** Returns metrics of this daemon. Lines of a picture are shared by scrapers with the same rights. */
function ownMetrics({ live, meters, snapshotFor }: RouteDeps): MetricsSource {
  const exposition = createExposition();
  return {
    ofSites: false,
    seats() {
      const { seats, utilization } = summarise(live.snapshot());
      return { total: seats.total, used: seats.used, utilization };
    },
    render: (exchange, _query, format) => exposition.render(snapshotFor(exchange), meters, format),
  };
}

/** Serves the metrics event of the streams with the process's own counters, and the exposition for Prometheus. */
export function metricsRoutes(deps: RouteDeps, source: MetricsSource = ownMetrics(deps)) {
  const { clock, host, daemon, requests } = deps;
  const { ofSites } = source;
  const query = queryOf(ofSites ? CHOSEN : ({} as typeof CHOSEN));

  async function scrape(exchange: Exchange, query: Chosen, format: TextFormat) {
    const body = await source.render(exchange, query, format);
    return send(exchange.request, { body, headers: { "content-type": CONTENT_TYPES[format] } });
  }

  async function sample(query: Chosen): Promise<Metrics> {
    const licenses = await source.seats(query);
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

  return new Elysia({ name: "routes/metrics" })
    .use(gated)
    .get(
      "/api/metrics",
      ({ request, exchange, query }) => {
        const format = metricsFormat(request.headers.get("accept"));
        return format === "json" ? sample(query) : scrape(exchange, query, format);
      },
      documented("read", "Service", `Load, seats and the ${ofSites ? "hub" : "daemon"}'s own counters`, {
        description: "With a Prometheus format in `Accept`, answers the same as `/metrics`.",
        query,
        answers: { 200: { description: "One sample", schema: Metrics, content: TEXT_CONTENT } },
      }),
    )
    .get(
      "/metrics",
      ({ request, exchange, query }) => scrape(exchange, query, scrapeFormat(request.headers.get("accept"))),
      documented("read", "Service", "Metrics for Prometheus", {
        description: ofSites
          ? "Sites, their servers and features, and the hub itself. Above about 20,000 features, metrics of features are " +
            "left out and counted in `licmond_hub_left_out`: scrape each site as its own target with `site=`."
          : "Servers, features, pools, polls, alerts and the daemon itself. OpenMetrics if `Accept` names it, otherwise " +
            "the older text format. Stale numbers are left out, but their state is included. No label names a user.",
        query,
        answers: { 200: { description: "All metrics", content: TEXT_CONTENT } },
      }),
    );
}
