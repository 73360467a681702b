import "../http/production.ts";
import { Elysia } from "elysia";
import { FLEET_USAGE_KEYS } from "../domain/stats/usage.ts";
import { docsRoutes } from "../http/docs/routes.ts";
import { type Audit, createAudit } from "../http/exchange.ts";
import { createGate } from "../http/gate.ts";
import { createLimits, type Limits } from "../http/limits.ts";
import { notFoundPage, pageRoutes } from "../http/page/routes.ts";
import { createRequestCounters, type RequestCounters } from "../http/request-counters.ts";
import { alertRoutes } from "../http/routes/alerts.ts";
import { badgeRoutes } from "../http/routes/badge.ts";
import { calendarRoutes } from "../http/routes/calendar.ts";
import { type AppDeps, createRouteDeps } from "../http/routes/deps.ts";
import { executeRoutes } from "../http/routes/execute.ts";
import { keyRoutes } from "../http/routes/keys.ts";
import { listRoutes } from "../http/routes/lists.ts";
import { logRoutes } from "../http/routes/logs.ts";
import { maintenanceRoutes } from "../http/routes/maintenance.ts";
import { metricsRoutes } from "../http/routes/metrics.ts";
import { outageRoutes } from "../http/routes/outages.ts";
import { peopleRoutes } from "../http/routes/people.ts";
import { rescanRoutes } from "../http/routes/rescan.ts";
import { serviceRoutes } from "../http/routes/service.ts";
import { sessionRoutes } from "../http/routes/sessions.ts";
import { signInRoutes } from "../http/routes/sign-ins.ts";
import { statisticsRoutes } from "../http/routes/statistics.ts";
import { streamRoutes } from "../http/routes/streams.ts";
import { SOCKETS } from "../http/streams/websocket.ts";
import type { HubSignIns } from "./access/sign-ins.ts";
import { type Commands, commandsAtSites } from "./commands/commands.ts";
import type { Pool } from "./database/connect.ts";
import type { Reads } from "./database/reads.ts";
import { type Directory, serversIn } from "./lists/directory.ts";
import { createHubLists } from "./lists/lists.ts";
import { fleetMetrics } from "./metrics/exposition.ts";
import { type PushPort, pushRoutes } from "./routes/push.ts";
import { siteRoutes } from "./routes/sites.ts";

export interface HubAppDeps extends Omit<AppDeps, "pictures" | "execute"> {
  /** Picture numbers are stored with the pictures. */
  readonly pictures: Pick<AppDeps["pictures"], "anonymous">;
  readonly execute: Pick<AppDeps["execute"], "enabled" | "list">;
  readonly push: PushPort;
  readonly signIns: HubSignIns;
  readonly pool: Pool;
  readonly reads: Reads;
  readonly directory: Directory;
  readonly commands: Commands;
}

/** Creates the HTTP side of a hub: the daemon's gate and routes with other implementations. */
export function createHubApp(deps: HubAppDeps, counters: RequestCounters = createRequestCounters()) {
  const audit = createAudit(deps.log("audit"));
  const limits = createLimits(deps);
  const api = apiRoutes(deps, limits, counters, audit);
  const cookie = new RegExp(`licmond_${deps.installationId}=([a-z0-9]{12})\\.`);
  const app = new Elysia({
    name: "licmond hub",
    handler: { standardHostname: false },
    websocket: SOCKETS,
    normalize: false,
  });
  return app
    .onRequest(async ({ request }) => {
      // A browser that signed in at one hub may send its next request to another.
      const id = cookie.exec(request.headers.get("cookie") ?? "")?.[1];
      if (id !== undefined) await deps.signIns.known(id);
    })
    .use(createGate(deps, app, limits, audit, counters, notFoundPage))
    .use(api)
    .use(docsRoutes(api, deps.build.version))
    .use(pageRoutes(deps.settings, true));
}

function apiRoutes(http: HubAppDeps, limits: Limits, counters: RequestCounters, audit: Audit) {
  // The routes below never use the missing ports.
  const deps = createRouteDeps(http as HubAppDeps & AppDeps, limits, audit, counters);
  const lists = createHubLists(deps, http);
  const checkSites = (site: readonly string[]) => void serversIn(http.directory, { site });
  return new Elysia({ name: "api" })
    .use(pushRoutes(http.push))
    .use(siteRoutes(deps, http))
    .use(listRoutes(lists))
    .use(streamRoutes(deps, checkSites))
    .use(sessionRoutes(deps))
    .use(statisticsRoutes(deps, FLEET_USAGE_KEYS))
    .use(outageRoutes(deps))
    .use(peopleRoutes(deps))
    .use(alertRoutes(deps))
    .use(badgeRoutes(deps, lists))
    .use(calendarRoutes(deps, lists))
    .use(maintenanceRoutes(deps))
    .use(rescanRoutes(deps))
    .use(executeRoutes(deps, commandsAtSites(deps, http.commands)))
    .use(metricsRoutes(deps, fleetMetrics(deps, http)))
    .use(logRoutes(deps, checkSites))
    .use(serviceRoutes(deps))
    .use(keyRoutes(deps))
    .use(signInRoutes(deps));
}
