import { Elysia } from "elysia";
import { type Occurrence, occurrences } from "../../alerts/settings.ts";
import { globPattern } from "../../domain/plain-text.ts";
import { Maintenance } from "../../domain/service/maintenance.ts";
import { iso } from "../../domain/time/clock.ts";
import { documented } from "../docs/documented.ts";
import { gated } from "../exchange.ts";
import { NAMED, queryOf } from "../query.ts";
import { namedServers } from "../snapshot.ts";
import type { RouteDeps } from "./deps.ts";

const QUERY = queryOf({ server: NAMED.server, label: NAMED.label });

/** Lists the maintenance windows with their state and next start. */
export function maintenanceRoutes({ settings, clock, snapshotFor }: RouteDeps) {
  return new Elysia({ name: "routes/maintenance" }).use(gated).get(
    "/api/maintenance",
    ({ exchange, query }) => {
      const { maintenance, timezone } = settings();
      const ids = namedServers(snapshotFor(exchange), query.server, query.label).map(
        ({ server }) => server.id,
      );
      const now = clock.now();
      const isNarrowed = query.server !== undefined || query.label !== undefined;
      const windows = maintenance.map((window) => {
        const patterns = window.servers.map(globPattern);
        const { running, next } = occurrences(window, now, timezone);
        return {
          patterns: [...window.servers],
          servers: ids.filter((id) => patterns.some((pattern) => pattern.test(id))),
          every: window.every,
          durationSeconds: window.durationMs / 1000,
          running: spanOf(running),
          next: spanOf(next),
        };
      });
      return { windows: windows.filter(({ servers }) => !isNarrowed || servers.length > 0), timezone };
    },
    documented("read", "Licenses", "Maintenance windows: the active ones, and the next start of each", {
      description:
        "No alert fires for servers in an active window. `server` and `label` select the windows of these servers.",
      query: QUERY,
      answers: { 200: { description: "The windows", schema: Maintenance } },
    }),
  );
}

function spanOf(occurrence: Occurrence | null) {
  return occurrence && { start: iso(occurrence.start), end: iso(occurrence.end) };
}
