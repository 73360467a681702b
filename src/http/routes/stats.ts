import { Elysia } from "elysia";
import { ApiError } from "../../domain/errors.ts";
import type { FeatureId } from "../../domain/history.ts";
import { listBeside, RangeFields, StatsRecord } from "../../domain/history-records.ts";
import type { ServerPicture } from "../../domain/picture.ts";
import { words } from "../../domain/records.ts";
import { autoInterval, bucketCount, INTERVALS } from "../../domain/stats/buckets.ts";
import { MAX_POINTS, type StatsOrder } from "../../store/statistics/stats.ts";
import type { SnapshotFor } from "../anonymous/view.ts";
import { askedServers } from "../answers/asked-servers.ts";
import { chooseFormat } from "../answers/format.ts";
import { listDoc } from "../answers/list.ts";
import { sortable } from "../answers/order.ts";
import { withoutTag } from "../answers/rows.ts";
import type { HttpDeps } from "../deps.ts";
import { documented } from "../documented.ts";
import { gated } from "../exchange.ts";
import { answerOf, askedNow, rangeOf, timezone } from "../history.ts";
import { FORMAT, flag, LIVE_PAGE, NAMED, sortBy, word } from "../parameters.ts";
import { queryOf } from "../query.ts";
import { endTime, startTime } from "../query-time.ts";

const DAY_MS = 86_400_000;

const QUERY = queryOf({
  ...NAMED,
  start: startTime("Start of the range. Default: 24 hours before the end."),
  end: endTime("End of the range, not in it; a bare date is. Default: now."),
  interval: word(
    ["auto", ...INTERVALS],
    "Width of the buckets; `auto` (default) is the smallest that gives at most 400.",
  ),
  timezone: timezone("IANA zone of day buckets."),
  series: flag("Whether each feature has its series. Default: true where `feature` is given."),
  sort: sortBy<StatsOrder>(sortable<Omit<StatsRecord, "series">>(StatsRecord)),
  ...LIVE_PAGE,
  ...FORMAT,
});

/** Figures of features over a range, and how they went. */
export function statsRoutes(
  { history, clock, settings, live }: Pick<HttpDeps, "history" | "clock" | "settings" | "live">,
  snapshotFor: SnapshotFor,
) {
  return new Elysia({ name: "routes/stats" }).use(gated).get(
    "/api/licenses/stats",
    async ({ request, exchange }) => {
      const now = askedNow(clock, live.snapshot());
      const query = QUERY.parse(exchange.query, now.now);
      const format = chooseFormat(query, request.headers.get("accept"));
      const range = rangeOf(query, now.now, DAY_MS);
      const series = format === "json" && (query.series ?? query.feature !== null);
      const interval = query.interval === "auto" ? null : query.interval;
      if (series)
        checkPoints(bucketCount(interval ?? autoInterval(range.start, range.end), range.start, range.end));
      const asker = { request, caller: exchange.caller };
      const servers = await askedServers(history, asker, snapshotFor(exchange), query);
      const { limit, offset, sort } = query;
      const asked = {
        ...{ ...now, ...range, interval, series, sort, limit, offset, format },
        filter: { servers: query.server, daemons: query.daemon, features: query.feature },
        uncounted: query.feature === null ? [] : uncountedOf(servers, query.feature, query.daemon),
        timezone: query.timezone ?? settings().timezone,
      };
      return answerOf(history, asker, "stats", asked, ({ points }) => checkPoints(points));
    },
    documented({
      access: "read",
      tag: "Licenses",
      summary: "Peaks, averages and series of features over a range",
      description:
        "Averages and percentiles are weighted by time and count covered time alone; utilization goes by the total of " +
        "its own time. Features without coverage in the range are told where they are named: counts come from polls " +
        "alone, and of times before them imported logs give sessions, usage and denials. An answer of more than " +
        `${MAX_POINTS.toLocaleString("en")} points is refused.`,
      query: QUERY,
      answers: {
        200: {
          ...withoutTag(listDoc("features", StatsRecord, "Figures of features")),
          schema: listBeside("features", StatsRecord, { ...RangeFields, interval: words(INTERVALS) }),
        },
      },
      errors: ["NOT_FOUND", "TIMEOUT"],
    }),
  );
}

/** Those among the named ones of which the tool prints no count: only their sessions and denials are known. */
function uncountedOf(
  servers: readonly ServerPicture[],
  names: readonly string[],
  daemons: readonly string[] | null,
): FeatureId[] {
  return servers.flatMap(({ server, features }) =>
    features
      .filter(({ used, unlimited }) => unlimited && used === null)
      .filter(({ daemon, name }) => names.includes(name) && (daemons === null || daemons.includes(daemon)))
      .map(({ daemon, name }) => ({ server: server.id, daemon, feature: name })),
  );
}

function checkPoints(points: number): void {
  if (points <= MAX_POINTS) return;
  throw new ApiError(
    "INVALID_QUERY",
    `The series would have ${points} points; ${MAX_POINTS} are the most. Ask for a wider interval, a shorter range, fewer features, or series=false.`,
  );
}
