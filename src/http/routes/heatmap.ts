import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { HeatCellRecord, RangeFields } from "../../domain/history-records.ts";
import type { SnapshotFor } from "../anonymous/view.ts";
import { chooseFormat } from "../answers/format.ts";
import { namedServers } from "../answers/known-servers.ts";
import { listDoc } from "../answers/list.ts";
import { withoutTag } from "../answers/rows.ts";
import type { HttpDeps } from "../deps.ts";
import { documented } from "../documented.ts";
import type { Exchanges } from "../exchange.ts";
import { answerOf, rangeOf, timezone } from "../history.ts";
import { FORMAT, names, wholeNames } from "../parameters.ts";
import { queryOf } from "../query.ts";
import { endTime, startTime } from "../query-time.ts";

const FOUR_WEEKS_MS = 28 * 86_400_000;

const QUERY = queryOf({
  feature: wholeNames("Exact name of the feature; may be repeated.", "solver"),
  server: names("Ids of servers. An unknown one is 404.", "eda"),
  start: startTime("Start of the range. Default: four weeks before the end."),
  end: endTime("End of the range, not in it; a bare date is. Default: now."),
  timezone: timezone("IANA zone of the weekdays and hours."),
  ...FORMAT,
});

const Heatmap = Type.Object({
  timezone: Type.String(),
  features: Type.Integer({ minimum: 0, description: "Features laid together" }),
  cells: Type.Array(HeatCellRecord, { description: "Every hour of the week, Monday first" }),
  ...RangeFields,
});

/** When seats are in use: by hour and weekday. */
export function heatmapRoutes(
  { history, clock, settings }: Pick<HttpDeps, "history" | "clock" | "settings">,
  snapshotFor: SnapshotFor,
  exchanges: Exchanges,
) {
  return new Elysia({ name: "routes/heatmap" }).get(
    "/api/licenses/heatmap",
    async ({ request }) => {
      const exchange = exchanges.of(request);
      const query = QUERY.parse(exchange.query);
      const format = chooseFormat(query, request.headers.get("accept"));
      namedServers(snapshotFor(exchange), query.server);
      return answerOf(history, { request, caller: exchange.caller }, "heatmap", {
        ...rangeOf(query, clock.now(), FOUR_WEEKS_MS),
        filter: { servers: query.server, features: query.feature },
        timezone: query.timezone ?? settings().timezone,
        format,
      });
    },
    documented({
      access: "read",
      tag: "Licenses",
      summary: "Use by hour and weekday",
      description:
        "Several features are laid together: at any moment the sum of those known then. Where samples are gone, " +
        "only a single feature has a heat map.",
      query: QUERY,
      answers: { 200: { ...withoutTag(listDoc("cells", HeatCellRecord, "Heat map")), schema: Heatmap } },
      errors: ["NOT_FOUND", "TIMEOUT"],
    }),
  );
}
