import "../http/production.ts";
import { Elysia } from "elysia";
import { FLEET_USAGE_KEYS } from "../domain/stats/usage.ts";
import { sharedRoutes } from "../http/app.ts";
import { docsRoutes } from "../http/docs/routes.ts";
import { type Audit, createAudit } from "../http/exchange.ts";
import { createGate } from "../http/gate.ts";
import { createLimits, type Limits } from "../http/limits.ts";
import { notFoundPage, pageRoutes } from "../http/page/routes.ts";
import { createRequestCounters, type RequestCounters } from "../http/request-counters.ts";
import { type AppDeps, createRouteDeps } from "../http/routes/deps.ts";
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
  /** Without the numbers of pictures, which a hub stores with the pictures. */
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
      // Look up the cookie: a browser that signed in at another hub may send its next request here.
      const id = cookie.exec(request.headers.get("cookie") ?? "")?.[1];
      if (id !== undefined) await deps.signIns.known(id);
    })
    .use(createGate(deps, app, limits, audit, counters, notFoundPage))
    .use(api)
    .use(docsRoutes(api, deps.build.version))
    .use(pageRoutes(deps.settings, true));
}

function apiRoutes(http: HubAppDeps, limits: Limits, counters: RequestCounters, audit: Audit) {
  // The cast is safe, because the routes below never use the missing ports.
  const deps = createRouteDeps(http as HubAppDeps & AppDeps, limits, audit, counters);
  return sharedRoutes(deps, {
    lists: createHubLists(deps, http),
    metrics: fleetMetrics(deps, http),
    commands: commandsAtSites(deps, http.commands),
    checkSites: (site) => void serversIn(http.directory, { site }),
    usageKeys: FLEET_USAGE_KEYS,
  })
    .use(pushRoutes(http.push))
    .use(siteRoutes(deps, http));
}
