import "./production.ts";

import { Elysia } from "elysia";
import type { FLEET_USAGE_KEYS } from "../domain/stats/usage.ts";
import type { Json } from "./docs/normalise.ts";
import { docsRoutes } from "./docs/routes.ts";
import { type Audit, createAudit } from "./exchange.ts";
import { createGate } from "./gate.ts";
import { createLimits, type Limits } from "./limits.ts";
import type { CheckSites, Lists } from "./lists/lists.ts";
import { createLiveLists } from "./lists/live-lists.ts";
import { notFoundPage, pageRoutes } from "./page/routes.ts";
import { createRequestCounters, type RequestCounters } from "./request-counters.ts";
import { alertRoutes } from "./routes/alerts.ts";
import { badgeRoutes } from "./routes/badge.ts";
import { calendarRoutes } from "./routes/calendar.ts";
import { type AppDeps, createRouteDeps, type RouteDeps } from "./routes/deps.ts";
import { type CommandPort, executeRoutes } from "./routes/execute.ts";
import { keyRoutes } from "./routes/keys.ts";
import { listRoutes } from "./routes/lists.ts";
import { logRoutes } from "./routes/logs.ts";
import { type MetricsSource, metricsRoutes } from "./routes/metrics.ts";
import { maintenanceRoutes, outageRoutes } from "./routes/outages.ts";
import { rescanRoutes } from "./routes/rescan.ts";
import { rawRoutes } from "./routes/servers.ts";
import { serviceRoutes } from "./routes/service.ts";
import { peopleRoutes, sessionRoutes } from "./routes/sessions.ts";
import { signInRoutes } from "./routes/sign-ins.ts";
import { statisticsRoutes } from "./routes/statistics.ts";
import { streamRoutes } from "./routes/streams.ts";
import { SOCKETS } from "./streams/websocket.ts";

export function createApp(deps: AppDeps, counters: RequestCounters = createRequestCounters()) {
  const audit = createAudit(deps.log("audit"));
  const limits = createLimits(deps);
  const api = apiRoutes(deps, limits, counters, audit);
  const app = new Elysia({
    name: "licmond",
    handler: { standardHostname: false },
    websocket: SOCKETS,
    // Otherwise Elysia silently strips unknown parameters and fields.
    normalize: false,
  });
  return app
    .use(createGate(deps, app, limits, audit, counters, notFoundPage))
    .use(api)
    .use(docsRoutes(api, deps.build.version))
    .use(pageRoutes(deps.settings));
}

export type App = ReturnType<typeof createApp>;

/** Builds the OpenAPI document without calling any dependency. */
export async function apiDocument(deps: AppDeps): Promise<Json> {
  const { openApiDocument } = await import("./docs/document.ts");
  const audit = createAudit(deps.log("audit"));
  const api = apiRoutes(deps, createLimits(deps), createRequestCounters(), audit);
  return openApiDocument(api, deps.build.version);
}

/** All routes of the API without the gate, for the app and for its document. */
function apiRoutes(http: AppDeps, limits: Limits, counters: RequestCounters, audit: Audit) {
  const deps = createRouteDeps(http, limits, audit, counters);
  return sharedRoutes(deps, { lists: createLiveLists(deps) }).use(rawRoutes(deps));
}

/** Implementations behind the shared routes. Defaults to those of a daemon. */
interface Implementations {
  readonly lists: Lists;
  readonly metrics?: MetricsSource;
  readonly commands?: CommandPort;
  readonly checkSites?: CheckSites;
  readonly usageKeys?: typeof FLEET_USAGE_KEYS;
}

/** The routes of a daemon that a hub has, too. */
export function sharedRoutes(
  deps: RouteDeps,
  { lists, metrics, commands, checkSites, usageKeys }: Implementations,
) {
  return new Elysia({ name: "api" })
    .use(serviceRoutes(deps))
    .use(metricsRoutes(deps, metrics))
    .use(listRoutes(lists))
    .use(rescanRoutes(deps))
    .use(badgeRoutes(deps, lists))
    .use(sessionRoutes(deps))
    .use(statisticsRoutes(deps, usageKeys))
    .use(outageRoutes(deps))
    .use(peopleRoutes(deps))
    .use(calendarRoutes(deps, lists))
    .use(alertRoutes(deps))
    .use(executeRoutes(deps, commands))
    .use(maintenanceRoutes(deps))
    .use(logRoutes(deps, checkSites))
    .use(streamRoutes(deps, checkSites))
    .use(keyRoutes(deps))
    .use(signInRoutes(deps));
}
