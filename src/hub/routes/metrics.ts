import { Elysia } from "elysia";
import type { AlertRule, Severity } from "../../domain/alerts.ts";
import { Metrics } from "../../domain/service/status.ts";
import { CONTENT_TYPES, type Emit, NO_LABELS, type TextFormat } from "../../export/family.ts";
import { emitService } from "../../export/meters.ts";
import { metricsFormat, scrapeFormat, send } from "../../http/answers/answer.ts";
import { documented } from "../../http/docs/documented.ts";
import { type Exchange, gated } from "../../http/exchange.ts";
import { SITE } from "../../http/lists/lists.ts";
import { NAMED, queryOf, type Values } from "../../http/query.ts";
import type { RouteDeps } from "../../http/routes/deps.ts";
import { sampleOf, TEXT_CONTENT } from "../../http/routes/metrics.ts";
import { namedServers } from "../../http/snapshot.ts";
import { readProcessMetrics } from "../../system/host-metrics.ts";
import { serversIn } from "../lists/scope.ts";
import { fleetSummary } from "../lists/summary.ts";
import { createFleetExposition } from "../metrics/exposition.ts";
import { emitSite, HUB } from "../metrics/families.ts";
import { type SitesDeps, siteRecords } from "./sites.ts";

const CHOSEN = { ...SITE, server: NAMED.server, label: NAMED.label };
const QUERY = queryOf(CHOSEN);

type Deps = Pick<
  RouteDeps,
  "clock" | "host" | "live" | "daemon" | "meters" | "requests" | "build" | "snapshotFor"
>;

/** Serves metrics of sites, their servers and the hub itself. */
export function metricsAtHubRoutes(deps: Deps, http: SitesDeps) {
  const { clock, daemon, build, meters, snapshotFor } = deps;
  const { reads, directory } = http;
  const exposition = createFleetExposition(http);

  async function scrape(exchange: Exchange, query: Values<typeof CHOSEN>, format: TextFormat) {
    const ids = serversIn(directory, query);
    const sites = await siteRecords(http, query.site ?? null, clock.now());
    const own = await ownMetrics();
    const service = (emit: Emit) => {
      for (const site of sites) emitSite(site, emit);
      own(emit);
    };
    const servers = namedServers(snapshotFor(exchange), ids);
    const body = await exposition.render(servers, service, format);
    return send(exchange.request, { body, headers: { "content-type": CONTENT_TYPES[format] } });
  }

  async function sample(query: Values<typeof CHOSEN>): Promise<Metrics> {
    const { seats, utilization } = await fleetSummary(reads.pool(), directory, serversIn(directory, query));
    return sampleOf(deps, { total: seats.total, used: seats.used, utilization });
  }

  /** Returns metrics of the fleet's alerts and stream, and of the hub itself. */
  async function ownMetrics(): Promise<(emit: Emit) => void> {
    const sql = reads.pool();
    const [firing, [row]] = await Promise.all([
      sql`SELECT rule, severity FROM alerts WHERE resolved_at IS NULL LIMIT 100000` as Promise<
        { rule: AlertRule; severity: Severity }[]
      >,
      sql`SELECT pg_database_size(current_database()) AS size, (SELECT min(received_at) FROM new_events) AS waits`,
    ]);
    const { streams, eventLoopLagMs, startedAt, lastReload } = daemon.status();
    return (emit) => {
      emitService(
        {
          build,
          firing,
          streams,
          eventLoopLagMs,
          startedAt,
          lastReload,
          runningPolls: 0,
          databaseBytes: Number(row.size),
          disk: null,
          process: readProcessMetrics(),
        },
        emit,
      );
      const waitsMs = row.waits === null ? 0 : Math.max(0, clock.now() - Number(row.waits));
      emit(HUB.publishing, NO_LABELS, waitsMs / 1000);
      meters(emit);
    };
  }

  return new Elysia({ name: "routes/metrics-at-hub" })
    .use(gated)
    .get(
      "/api/metrics",
      ({ request, exchange, query }) => {
        const format = metricsFormat(request.headers.get("accept"));
        return format === "json" ? sample(query) : scrape(exchange, query, format);
      },
      documented("read", "Service", "Load, seats and the hub's own counters", {
        description: "With a Prometheus format in `Accept`, answers the same as `/metrics`.",
        query: QUERY,
        answers: { 200: { description: "One sample", schema: Metrics, content: TEXT_CONTENT } },
      }),
    )
    .get(
      "/metrics",
      ({ request, exchange, query }) => scrape(exchange, query, scrapeFormat(request.headers.get("accept"))),
      documented("read", "Service", "Metrics for Prometheus", {
        description:
          "Sites, their servers and features, and the hub itself. Above about 20,000 features, metrics of features are left out " +
          "and counted in `licmond_hub_left_out`: scrape each site as its own target with `site=`.",
        query: QUERY,
        answers: { 200: { description: "All metrics", content: TEXT_CONTENT } },
      }),
    );
}
