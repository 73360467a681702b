import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { HeatCellRecord, RangeFields } from "../../domain/history-records.ts";
import type { SnapshotFor } from "../anonymous/view.ts";
import { askedServers } from "../answers/asked-servers.ts";
import { chooseFormat } from "../answers/format.ts";
import { listDoc } from "../answers/list.ts";
import { withoutTag } from "../answers/rows.ts";
import type { HttpDeps } from "../deps.ts";
import { documented } from "../documented.ts";
import { gated } from "../exchange.ts";
import { answerOf, rangeOf, timezone } from "../history.ts";
import { FORMAT, NAMED } from "../parameters.ts";
import { queryOf } from "../query.ts";
import { endTime, startTime } from "../query-time.ts";

const FOUR_WEEKS_MS = 28 * 86_400_000;

const QUERY = queryOf({
  ...NAMED,
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
) {
  return new Elysia({ name: "routes/heatmap" }).use(gated).get(
    "/api/licenses/heatmap",
    async ({ request, exchange }) => {
      const now = clock.now();
      const query = QUERY.parse(exchange.query, now);
      const format = chooseFormat(query, request.headers.get("accept"));
      const range = rangeOf(query, now, FOUR_WEEKS_MS);
      const asker = { request, caller: exchange.caller };
      await askedServers(history, asker, snapshotFor(exchange), query);
      return answerOf(history, asker, "heatmap", {
        ...range,
        filter: { servers: query.server, daemons: query.daemon, features: query.feature },
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
