import "./production.ts";

import { Elysia } from "elysia";
import { createSnapshotFor } from "./anonymous/view.ts";
import { createAnswers } from "./answers/answers.ts";
import { type Audit, createAudit } from "./audit.ts";
import type { HttpDeps } from "./deps.ts";
import type { Json } from "./docs/normalise.ts";
import { docsRoutes } from "./docs/routes.ts";
import { createExchanges } from "./exchange.ts";
import { createForcePoll } from "./force-poll.ts";
import { createClientAddress } from "./limits/client-address.ts";
import { accessLog } from "./plugins/access-log.ts";
import { addressLimit } from "./plugins/address-limit.ts";
import { answerHeaders } from "./plugins/answer-headers.ts";
import { answered } from "./plugins/answered.ts";
import { authentication, authorisation } from "./plugins/auth.ts";
import { bodyLimit } from "./plugins/body-limit.ts";
import { cors } from "./plugins/cors.ts";
import { errors } from "./plugins/errors.ts";
import { keyLimit } from "./plugins/key-limit.ts";
import { knownPath } from "./plugins/known-path.ts";
import { requestId } from "./plugins/request-id.ts";
import { responseHeaders } from "./plugins/response-headers.ts";
import { socketOrigin } from "./plugins/socket-origin.ts";
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

/**
 * The HTTP side of the daemon. The order of the checks is the order of the plugins below;
 * all of them run before a byte of a body is read, and what they need to know of a route the route declares.
 */
export function createApp(deps: HttpDeps, counters: RequestCounters = createRequestCounters()) {
  const table = createRouteTable(() => app.routes);
  const exchanges = createExchanges(table.find, counters.begun);
  const log = deps.log("http");
  const auth = deps.log("auth");
  const { clock, keys, quotas } = deps;
  const limits = () => deps.settings().limits;
  const origins = () => deps.settings().corsOrigins;
  const peer = (request: Request): string | null => app.server?.requestIP(request)?.address ?? null;
  const isTls = (): boolean => app.server?.protocol === "https";
  const address = createClientAddress(peer, () => deps.settings().trustedProxies);
  const audit = createAudit(deps.log("audit"), exchanges, address.of);

  const api = apiRoutes(deps, exchanges, counters, audit);
  const app = new Elysia({ name: "licmond", handler: { standardHostname: false }, websocket: SOCKETS })
    .use(errors(exchanges, clock, log))
    .use(answered(answerHeaders(exchanges), accessLog(exchanges, counters, log)))
    .use(requestId(exchanges)) // 1
    .use(responseHeaders(exchanges, isTls))
    .use(cors(exchanges, origins))
    .use(addressLimit(exchanges, { keys, clock, address, limits })) // 2
    .use(knownPath(exchanges)) // 3
    .use(authentication(exchanges, { keys, clock, address, log: auth })) // 4
    .use(keyLimit(exchanges, { quotas, clock, limits })) // 5
    .use(authorisation(exchanges, { audit, address, log: auth })) // 6
    .use(socketOrigin(exchanges, { origins, isTls, address }))
    .use(bodyLimit(() => deps.settings().maxBodyBytes)) // 7, before the reading; 8 and 9 are the route's own
    .use(api)
    .use(docsRoutes(api, deps.build.version))
    .use(homeRoutes(deps.build.version));
  return app;
}

export type App = ReturnType<typeof createApp>;

/** The document that an app of these would serve. None of them is asked for anything. */
export async function apiDocument(deps: HttpDeps): Promise<Json> {
  const { openApiDocument } = await import("./docs/document.ts");
  const exchanges = createExchanges(() => null);
  const audit = createAudit(deps.log("audit"), exchanges, () => "");
  return openApiDocument(apiRoutes(deps, exchanges, createRequestCounters(), audit), deps.build.version);
}

/** Every route of the API, without the gate: for the app and for its document. */
function apiRoutes(
  deps: HttpDeps,
  exchanges: ReturnType<typeof createExchanges>,
  counters: RequestCounters,
  audit: Audit,
) {
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
    .use(licenseRoutes(deps, snapshotFor, exchanges, answers, forcePoll))
    .use(featureRoutes(deps, snapshotFor, exchanges, answers))
    .use(userRoutes(deps, snapshotFor, exchanges, answers))
    .use(serverRoutes(deps, snapshotFor, exchanges, answers))
    .use(summaryRoutes(deps, snapshotFor, exchanges, answers))
    .use(statsRoutes(deps, snapshotFor, exchanges))
    .use(sessionRoutes(deps, snapshotFor, exchanges))
    .use(heatmapRoutes(deps, snapshotFor, exchanges))
    .use(efficiencyRoutes(deps, snapshotFor, exchanges))
    .use(usageRoutes(deps, snapshotFor, exchanges))
    .use(expirationRoutes(deps, snapshotFor, exchanges))
    .use(denialRoutes(deps, exchanges))
    .use(alertRoutes(deps, exchanges, audit))
    .use(rescanRoutes(deps, forcePoll))
    .use(reloadRoutes(deps, audit))
    .use(executeRoutes(deps, exchanges, audit))
    .use(logRoutes(deps, exchanges, audit))
    .use(sseRoutes(deps, exchanges))
    .use(socketRoutes(deps, exchanges))
    .use(keyRoutes(deps, exchanges, audit));
}
