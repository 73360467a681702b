import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { type Occurrence, occurrences } from "../../alerts/settings.ts";
import { RangeFields, WaitsRecord } from "../../domain/history-records.ts";
import { AvailabilityRecord, OUTAGE_STATUSES, OutageRecord } from "../../domain/outages.ts";
import { globPattern } from "../../domain/plain-text.ts";
import { Maintenance } from "../../domain/service/maintenance.ts";
import { iso } from "../../domain/time/clock.ts";
import { listDoc, sortable, sortOf } from "../answers/list.ts";
import { documented } from "../docs/documented.ts";
import { gated } from "../exchange.ts";
import { NAMED, queryOf, STORED_LIST, sortBy, wordList } from "../query.ts";
import { endTime, rangeOfDays, startTime } from "../query-time.ts";
import { namedServers } from "../snapshot.ts";
import type { RouteDeps } from "./deps.ts";

const RANGE = {
  start: startTime("Start of the range. Default: 30 days before the end."),
  end: endTime("End of the range (exclusive; a bare date includes its day). Default: now."),
};
const { start, end } = RangeFields;

const OUTAGES = queryOf({
  server: NAMED.server,
  label: NAMED.label,
  status: wordList(OUTAGE_STATUSES, "Status of the server; filters only the list."),
  ...RANGE,
  sort: sortBy(sortable<Omit<OutageRecord, "site">>(OutageRecord)),
  ...STORED_LIST,
});

const WAITS = queryOf({
  ...NAMED,
  ...RANGE,
  sort: sortBy(sortable<WaitsRecord>(WaitsRecord)),
  ...STORED_LIST,
});

export function outageRoutes({ reader }: RouteDeps) {
  return new Elysia({ name: "routes/outages" })
    .use(gated)
    .get(
      "/api/licenses/outages",
      async ({ exchange, query }) => {
        const { asked, servers } = await reader.read(exchange, query, rangeOfDays(30));
        return reader.answer(exchange, "outages", {
          ...asked,
          servers: asked.filter.servers,
          configured: servers.map(({ server }) => server.id),
          statuses: query.status ?? null,
          sort: sortOf(query.sort),
        });
      },
      documented("read", "Licenses", "Outages of servers, newest first, and their availability", {
        description:
          "Periods of one status that overlap the range, as polls found it, without the delay of alerts. A status lasts " +
          "until the next poll; without one, for one interval. Time after the last poll is not covered. Periods of status " +
          "`unknown` are listed as outages but do not count for availability: it is 0 for a server that was always down, " +
          "and null for one whose tool never ran.",
        query: OUTAGES,
        answers: {
          200: listDoc("outages", OutageRecord, "Outages", {
            servers: Type.Array(AvailabilityRecord, {
              description: "Availability in the range, for any `status`",
            }),
            start,
            end,
          }),
        },
        errors: ["TIMEOUT"],
      }),
    )
    .get(
      "/api/licenses/waits",
      async ({ exchange, query }) => {
        const { asked } = await reader.read(exchange, query, rangeOfDays(30));
        return reader.answer(exchange, "waits", { ...asked, sort: sortOf(query.sort) });
      },
      documented("read", "Licenses", "Full periods of features, and waits of requests in them", {
        description:
          "For each feature that was full in the range. A request at a random time in which it was full waits until a " +
          "reading shows a free seat, also over a gap of up to an hour. A wait that runs into a longer gap, or past the end " +
          "of the range, is counted up to there. `p80Confirmed` shows how well the p80 of the first two thirds of the " +
          "full periods held in the last third. Counts older than `[retention] samples` are not included.",
        query: WAITS,
        answers: { 200: listDoc("waits", WaitsRecord, "Waits", { start, end }) },
        errors: ["TIMEOUT"],
      }),
    );
}

const WINDOWS = queryOf({ server: NAMED.server, label: NAMED.label });

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
      query: WINDOWS,
      answers: { 200: { description: "The windows", schema: Maintenance } },
    }),
  );
}

function spanOf(occurrence: Occurrence | null) {
  return occurrence && { start: iso(occurrence.start), end: iso(occurrence.end) };
}
