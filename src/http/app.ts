import "./production.ts";

import { Elysia } from "elysia";
import { createSnapshotFor } from "./anonymous/view.ts";
import { createAnswers } from "./answers/answers.ts";
import { type Audit, createAudit } from "./audit.ts";
import type { HttpDeps } from "./deps.ts";
import type { Json } from "./docs/normalise.ts";
import { docsRoutes } from "./docs/routes.ts";
import { createForcePoll } from "./force-poll.ts";
import { type Connection, createGate } from "./gate.ts";
import { createRequestCounters, type RequestCounters } from "./request-counters.ts";
import { createRouteTable } from "./route-table.ts";
import { alertRoutes } from "./routes/alerts.ts";
import { denialRoutes } from "./routes/denials.ts";
import { efficiencyRoutes } from "./routes/efficiency.ts";
import { executeRoutes } from "./routes/execute.ts";
import { expirationRoutes } from "./routes/expirations.ts";
import { featureRoutes } from "./routes/features.ts";
import { healthRoutes } from "./routes/health.ts";
import { heatmapRoutes } from "./routes/heatmap.ts";
import { homeRoutes } from "./routes/home.ts";
import { keyRoutes } from "./routes/keys.ts";
import { licenseRoutes } from "./routes/licenses.ts";
import { logRoutes } from "./routes/logs.ts";
import { metricsRoutes } from "./routes/metrics.ts";
import { networkRoutes } from "./routes/network.ts";
import { pingRoutes } from "./routes/ping.ts";
import { createScrape, prometheusRoutes } from "./routes/prometheus.ts";
import { reloadRoutes } from "./routes/reload.ts";
import { rescanRoutes } from "./routes/rescan.ts";
import { serverInfoRoutes } from "./routes/server-info.ts";
import { serverRoutes } from "./routes/servers.ts";
import { sessionRoutes } from "./routes/sessions.ts";
import { statsRoutes } from "./routes/stats.ts";
import { statusRoutes } from "./routes/status.ts";
import { socketRoutes, sseRoutes } from "./routes/streams.ts";
import { summaryRoutes } from "./routes/summary.ts";
import { usageRoutes } from "./routes/usage.ts";
import { userRoutes } from "./routes/users.ts";

/** A client may send little and must take what it is sent; how much may wait for it is counted where it is sent. */
const SOCKETS = {
  idleTimeout: 60,
  sendPings: true,
  maxPayloadLength: 64 * 1024,
  backpressureLimit: 4 * 1024 * 1024,
  closeOnBackpressureLimit: false,
  perMessageDeflate: false,
};

/** The HTTP side of the daemon: the gate, and the routes behind it. */
export function createApp(deps: HttpDeps, counters: RequestCounters = createRequestCounters()) {
  const audit = createAudit(deps.log("audit"));
  const findRoute = createRouteTable(() => app.routes);
  const connection: Connection = {
    peer: (request) => app.server?.requestIP(request)?.address ?? null,
    isTls: () => app.server?.protocol === "https",
  };
  const api = apiRoutes(deps, counters, audit);
  const app = new Elysia({ name: "licmond", handler: { standardHostname: false }, websocket: SOCKETS })
    .use(createGate(deps, findRoute, connection, audit, counters))
    .use(api)
    .use(docsRoutes(api, deps.build.version))
    .use(homeRoutes(deps.build.version));
  return app;
}

export type App = ReturnType<typeof createApp>;

/** The document that an app with these dependencies would serve. Calls none of them. */
export async function apiDocument(deps: HttpDeps): Promise<Json> {
  const { openApiDocument } = await import("./docs/document.ts");
  const api = apiRoutes(deps, createRequestCounters(), createAudit(deps.log("audit")));
  return openApiDocument(api, deps.build.version);
}

/** Every route of the API, without the gate: for the app and for its document. */
function apiRoutes(deps: HttpDeps, counters: RequestCounters, audit: Audit) {
  const answers = createAnswers();
  const snapshotFor = createSnapshotFor(deps.live, deps.pseudonyms);
  const forcePoll = createForcePoll(deps, audit);
  const scrape = createScrape(deps);
  return new Elysia({ name: "api" })
    .use(healthRoutes(deps))
    .use(pingRoutes(deps))
    .use(statusRoutes(deps))
    .use(serverInfoRoutes(deps))
    .use(metricsRoutes(deps, counters, scrape))
    .use(prometheusRoutes(scrape))
    .use(networkRoutes(deps))
    .use(licenseRoutes(deps, snapshotFor, answers, forcePoll))
    .use(featureRoutes(deps, snapshotFor, answers))
    .use(userRoutes(deps, snapshotFor, answers))
    .use(serverRoutes(deps, snapshotFor, answers))
    .use(summaryRoutes(deps, snapshotFor, answers))
    .use(statsRoutes(deps, snapshotFor))
    .use(sessionRoutes(deps, snapshotFor))
    .use(heatmapRoutes(deps, snapshotFor))
    .use(efficiencyRoutes(deps, snapshotFor))
    .use(usageRoutes(deps, snapshotFor))
    .use(expirationRoutes(deps, snapshotFor))
    .use(denialRoutes(deps))
    .use(alertRoutes(deps, audit))
    .use(rescanRoutes(deps, forcePoll))
    .use(reloadRoutes(deps, audit))
    .use(executeRoutes(deps, audit))
    .use(logRoutes(deps, audit))
    .use(sseRoutes(deps))
    .use(socketRoutes(deps))
    .use(keyRoutes(deps, audit));
}
