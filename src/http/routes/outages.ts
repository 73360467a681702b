import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { RangeFields, WaitsRecord } from "../../domain/history-records.ts";
import { AvailabilityRecord, OUTAGE_STATUSES, OutageRecord } from "../../domain/outages.ts";
import { listDoc, sortable, sortOf } from "../answers/list.ts";
import { documented } from "../docs/documented.ts";
import { gated } from "../exchange.ts";
import { NAMED, queryOf, STORED_LIST, sortBy, wordList } from "../query.ts";
import { endTime, rangeOfDays, startTime } from "../query-time.ts";
import type { RouteDeps } from "./deps.ts";

const RANGE = {
  start: startTime("Start of the range. Default: 30 days before the end."),
  end: endTime("End of the range, not in it; a bare date is. Default: now."),
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

/** When servers were not up, and how long people wait for seats. */
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
      documented("read", "Licenses", "When servers were not up, newest first, and their availability", {
        description:
          "Stretches of one status that overlap the range, as each poll found it: no patience, unlike alerts. A status holds " +
          "until the next poll; where none comes, for one interval. An outage ends where polls end, and the time behind it is " +
          "not covered. `unknown` is an outage, and no covered time: a server that was polled and always refused has " +
          "availability 0, one whose tool could never be run has none.",
        query: OUTAGES,
        answers: {
          200: listDoc("outages", OutageRecord, "Outages", {
            servers: Type.Array(AvailabilityRecord, { description: "Of the range, for any `status`" }),
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
      documented("read", "Licenses", "How long full features stayed full, and waits for a seat lasted", {
        description:
          "Of each feature that was full in the range. A request at a random moment in which it was full waits until a reading " +
          "shows a free seat, also over a gap of up to an hour: while a server does not answer, nobody gets a seat. Where the " +
          "readings stop for longer, and at the end of the range, a wait counts as far as it was seen. These are facts of the " +
          "past: `p80Confirmed` says how well the p80 of the first two thirds of the stretches held in the last third. Counts " +
          "older than `[retention] samples` tell nothing.",
        query: WAITS,
        answers: { 200: listDoc("waits", WaitsRecord, "Waits", { start, end }) },
        errors: ["TIMEOUT"],
      }),
    );
}
