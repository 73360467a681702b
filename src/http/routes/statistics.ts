import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { ApiError } from "../../domain/errors.ts";
import type { CountedFeature } from "../../domain/history.ts";
import {
  Coverage,
  EfficiencyRecord,
  HeatCellRecord,
  ProductRecord,
  RangeFields,
  StatsRecord,
  UsageRecord,
} from "../../domain/history-records.ts";
import type { ServerPicture } from "../../domain/picture.ts";
import { OfCounts, record, words } from "../../domain/records.ts";
import { autoInterval, bucketCount, INTERVALS } from "../../domain/stats/bucketed.ts";
import { type FLEET_USAGE_KEYS, USAGE_KEYS, type UsageKey } from "../../domain/stats/usage.ts";
import { EFFICIENCY_ORDERS } from "../../history/statistics/efficiency.ts";
import type { ProductsAsked } from "../../history/statistics/products.ts";
import { MAX_POINTS, type StatsOrder } from "../../history/statistics/stats.ts";
import { USAGE_ORDERS, type UsageOrder } from "../../history/statistics/usage.ts";
import { formatOf } from "../answers/answer.ts";
import { csvToo, listDoc, sortable, sortOf } from "../answers/list.ts";
import { documented } from "../docs/documented.ts";
import { gated, requireLabels, requirePeople, requirePermission } from "../exchange.ts";
import { FIGURES, keyColumns } from "../history-answers/statistics.ts";
import {
  FORMAT,
  flag,
  LIVE_LIST,
  list,
  NAMED,
  PEOPLE,
  PRODUCT,
  queryOf,
  STORED_LIST,
  sortBy,
  word,
} from "../query.ts";
import { endTime, rangeOfDays, startTime, timezone } from "../query-time.ts";
import { checkKnown } from "../snapshot.ts";
import type { RouteDeps } from "./deps.ts";

const END = endTime("End of the range (exclusive; a bare date includes its day). Default: now.");
const THIRTY_DAYS = { start: startTime("Start of the range. Default: 30 days before the end."), end: END };

const STATS = queryOf({
  ...NAMED,
  product: PRODUCT,
  start: startTime("Start of the range. Default: 24 hours before the end."),
  end: END,
  interval: word(
    ["auto", ...INTERVALS],
    "Width of the buckets; `auto` (default) is the smallest width with at most 400 buckets.",
  ),
  timezone: timezone("IANA zone of day buckets."),
  series: flag("Whether each feature has a series. Default: true if `feature` is given."),
  sort: sortBy<StatsOrder>(sortable<Omit<StatsRecord, "series">>(StatsRecord)),
  ...LIVE_LIST,
});

const EFFICIENCY_FIELDS = {
  ...RangeFields,
  products: Type.Optional(
    Type.Array(ProductRecord, { description: "One row per product, if `product` is given" }),
  ),
};
const STATS_FIELDS = { ...EFFICIENCY_FIELDS, interval: words(INTERVALS) };

const EFFICIENCY = queryOf({
  ...NAMED,
  product: PRODUCT,
  ...THIRTY_DAYS,
  sort: sortBy(EFFICIENCY_ORDERS),
  ...STORED_LIST,
});

const HEATMAP = queryOf({
  ...NAMED,
  start: startTime("Start of the range. Default: four weeks before the end."),
  end: END,
  timezone: timezone("IANA zone of the weekdays and hours."),
  ...FORMAT,
});

const PEOPLE_HINT = "Every viewer may use other groups, without user and host.";
const usageQuery = (keys: typeof FLEET_USAGE_KEYS | typeof USAGE_KEYS) => {
  const words = [...keys, "label:<name>"].join(", ");
  const key = {
    takes: `one or more of ${words}, separated by commas`,
    read: (text: string) =>
      /^label:./.test(text) ? (text as UsageKey) : keys.find((known) => known === text),
  };
  return queryOf({
    group_by: list(
      key,
      { type: "string" },
      {
        description: `One or two of ${words}; \`feature\` is server, daemon and name. Default: user.`,
        example: ["user"],
      },
    ),
    ...NAMED,
    ...PEOPLE,
    ...THIRTY_DAYS,
    timezone: timezone("IANA zone of the days."),
    sort: sortBy<UsageOrder>(USAGE_ORDERS),
    ...STORED_LIST,
  });
};

const Heatmap = record("Heatmap", {
  timezone: Type.String(),
  features: Type.Integer({
    minimum: 0,
    description:
      "Number of features in the sum. Only features that count seats are summed, each seat group once; a single feature " +
      "is in its own unit",
  }),
  unit: OfCounts.unit,
  cells: Type.Array(HeatCellRecord, { description: "Every hour of the week, Monday first" }),
  ...RangeFields,
});

/** `keys` are the allowed values of `group_by` for usage. */
export function statisticsRoutes(
  { reader, settings, live }: RouteDeps,
  keys: typeof FLEET_USAGE_KEYS | typeof USAGE_KEYS = USAGE_KEYS,
) {
  /** Returns the products of a query. Throws NOT_FOUND for unknown ones. */
  function productsAsked(product: readonly string[] | null = null): ProductsAsked {
    const { products } = settings();
    const known = products.map(({ name }) => name);
    checkKnown(product ?? [], known, (name) => `The config has no product ${name}`);
    return { products, product };
  }

  /** Returns the labels of each server for groups. Throws NOT_FOUND for a label that no server has. */
  function labelsFor(groupBy: readonly UsageKey[]) {
    const labels = live.snapshot().servers.map(({ server }) => {
      const keyed = Object.entries(server.labels).map(([name, value]) => [`label:${name}`, value] as const);
      return [server.id, new Map(keyed)] as const;
    });
    const known = [...keys, ...labels.flatMap(([, own]) => [...own.keys()])];
    checkKnown(groupBy, known, (key) => `Cannot group by ${key}: no license server has that label`);
    return new Map(labels);
  }

  return new Elysia({ name: "routes/statistics" })
    .use(gated)
    .get(
      "/api/licenses/stats",
      async ({ exchange, query }) => {
        const { feature = null, limit = null } = query;
        const interval = query.interval === undefined || query.interval === "auto" ? null : query.interval;
        const series = formatOf(query, exchange.request) === "json" && (query.series ?? feature !== null);
        const { servers, asked } = await reader.read(exchange, query, (...range) => {
          const { start, end } = rangeOfDays(1)(...range);
          if (series) checkPoints(bucketCount(interval ?? autoInterval(start, end), start, end));
          return { start, end };
        });
        // Figures of products need counts, so leave out features without counts.
        const uncounted = query.product ? [] : uncountedOf(servers, asked.filter);
        const sort = sortOf(query.sort);
        const products = productsAsked(query.product);
        const question = { ...asked, ...products, interval, series, sort, limit, uncounted };
        return reader.answer(exchange, "stats", question, ({ points }) => checkPoints(points));
      },
      documented("read", "Licenses", "Peaks, averages and series of features over a range", {
        description:
          "Averages and percentiles are weighted by time and cover only polled time; utilization uses the total at each " +
          "time. Features named in the query are listed even without coverage, because imported logs add sessions, " +
          "usage and denials of times without polls. An answer of more than " +
          `${MAX_POINTS.toLocaleString("en")} points is refused.`,
        query: STATS,
        answers: { 200: listDoc("features", StatsRecord, "Figures of features", STATS_FIELDS) },
        errors: ["TIMEOUT"],
      }),
    )
    .get(
      "/api/licenses/efficiency",
      async ({ exchange, query }) => {
        const { asked } = await reader.read(exchange, query, rangeOfDays(30));
        const question = { ...asked, ...productsAsked(query.product), sort: sortOf(query.sort) };
        return reader.answer(exchange, "efficiency", question);
      },
      documented("read", "Licenses", "How busy each seat was, and the effect of fewer or more seats", {
        description:
          "For n seats up to the total, `saturatedSeconds` is the time in which n or more were in use, and " +
          "`affectedSessions` is the number of sessions that began when, including themselves, more than n were in use. " +
          "For more seats, seats requested by the queue and by denied requests (from the first to the last attempt, at " +
          "least 1 s) are added; while a request waits or is denied, demand is at least one seat above the total. " +
          "`affectedSessions` then includes denied and queued requests. Both are null for more seats if `knownFrom` is " +
          "`none`. CSV has a row for each seat and each simulated number of seats, distinguished by `part`; " +
          "X-Total-Count is the number of features.",
        query: EFFICIENCY,
        answers: { 200: listDoc("features", EfficiencyRecord, "Seats of features", EFFICIENCY_FIELDS) },
        errors: ["TIMEOUT"],
      }),
    )
    .get(
      "/api/licenses/heatmap",
      async ({ exchange, query }) => {
        const { asked } = await reader.read(exchange, query, rangeOfDays(28));
        return reader.answer(exchange, "heatmap", asked);
      },
      documented("read", "Licenses", "Use by hour and weekday", {
        description:
          "Several features are summed at each time. Where samples were deleted by retention, select a single feature: " +
          "sums of several are not available.",
        query: HEATMAP,
        answers: { 200: csvToo("Heat map", Heatmap) },
        errors: ["TIMEOUT"],
      }),
    )
    .get(
      "/api/licenses/usage",
      async ({ exchange, query }) => {
        const groupBy = checkedKeys(query.group_by ?? ["user"], keys);
        const byPerson = groupBy.some((key) => key === "user" || key === "host");
        if (byPerson || query.user !== undefined || query.host !== undefined) {
          requirePermission(exchange, "people", "Usage by user or host");
          requirePeople(exchange, settings().page.people, PEOPLE_HINT);
        }
        const sort = sortOf(query.sort) ?? { field: "heldSeatHours", descending: true };
        if (![...FIGURES, ...keyColumns(groupBy)].includes(sort.field)) {
          throw new ApiError(
            "INVALID_QUERY",
            `Query parameter "sort": "${sort.field}" requires group_by=${sort.field}.`,
          );
        }
        const { asked } = await reader.read(exchange, query, rangeOfDays(30));
        if (groupBy.some((key) => key.startsWith("label:"))) requireLabels(exchange);
        const labels = labelsFor(groupBy);
        const { products } = settings();
        return reader.answer(exchange, "usage", { ...asked, groupBy, sort, labels, products });
      },
      documented("read", "Licenses", "Use by group: seat-hours, sessions and peaks", {
        description:
          "Computed from stored sessions. Reserved seats without a user are counted only in `used` of stats. A session counts " +
          "from the first reading that shows it to the first one that does not, with its last number of seats; only an " +
          "imported log shows the time before licmond's first poll. If the range begins before sessions are kept, `start` " +
          "is the time from which sessions were counted. Sorted by seat-hours, largest first, by default.",
        query: usageQuery(keys),
        answers: { 200: listDoc("groups", UsageRecord, "Groups", { ...RangeFields, coverage: Coverage }) },
        errors: ["TIMEOUT"],
      }),
    );
}

/** Returns the named features without counts; only their sessions and denials are known. */
function uncountedOf(
  servers: readonly ServerPicture[],
  named: { readonly features: readonly string[] | null; readonly daemons: readonly string[] | null },
): CountedFeature[] {
  return servers.flatMap(({ server, features }) =>
    features
      .filter(({ used, unlimited }) => unlimited && used === null)
      .filter(({ name }) => named.features?.includes(name))
      .filter(({ daemon }) => named.daemons?.includes(daemon) ?? true)
      .map(({ daemon, name, unit = "seats", seatGroup = null }) => {
        return { server: server.id, daemon, feature: name, unit, seatGroup };
      }),
  );
}

function checkPoints(points: number): void {
  if (points <= MAX_POINTS) return;
  throw new ApiError(
    "INVALID_QUERY",
    `The series would have ${points} points; the maximum is ${MAX_POINTS}. Ask for a wider interval, a shorter range, fewer features, or series=false.`,
  );
}

function checkedKeys(keys: readonly UsageKey[], known: readonly string[]): readonly UsageKey[] {
  if (keys.length <= 2 && new Set(keys).size === keys.length) return keys;
  throw new ApiError(
    "INVALID_QUERY",
    `Query parameter "group_by" got ${keys.length} keys; it must be one or two different keys of ${[...known, "label:<name>"].join(", ")}.`,
  );
}
