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

const END = endTime("End of the range, not in it; a bare date is. Default: now.");
const THIRTY_DAYS = { start: startTime("Start of the range. Default: 30 days before the end."), end: END };

const STATS = queryOf({
  ...NAMED,
  product: PRODUCT,
  start: startTime("Start of the range. Default: 24 hours before the end."),
  end: END,
  interval: word(
    ["auto", ...INTERVALS],
    "Width of the buckets; `auto` (default): the smallest for at most 400.",
  ),
  timezone: timezone("IANA zone of day buckets."),
  series: flag("Whether each feature has its series. Default: true where `feature` is given."),
  sort: sortBy<StatsOrder>(sortable<Omit<StatsRecord, "series">>(StatsRecord)),
  ...LIVE_LIST,
});

const EFFICIENCY_FIELDS = {
  ...RangeFields,
  products: Type.Optional(
    Type.Array(ProductRecord, { description: "Where `product` is given: a row for each" }),
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

const PEOPLE_HINT = "Other groups are answered to every viewer, where neither user nor host is given.";
const usageQuery = (keys: typeof FLEET_USAGE_KEYS | typeof USAGE_KEYS) => {
  const words = [...keys, "label:<name>"].join(", ");
  const key = {
    takes: `${words} (one or more, separated by commas)`,
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
      "Features added up: those that count seats, each seat group once; or a single feature in its own unit",
  }),
  unit: OfCounts.unit,
  cells: Type.Array(HeatCellRecord, { description: "Every hour of the week, Monday first" }),
  ...RangeFields,
});

/** Figures over a range: of features, of each seat, by hour and weekday, by user. `keys`: what usage may be grouped by. */
export function statisticsRoutes(
  { reader, settings, live }: RouteDeps,
  keys: typeof FLEET_USAGE_KEYS | typeof USAGE_KEYS = USAGE_KEYS,
) {
  /** The products of a query. Throws NOT_FOUND for one that the config does not know. */
  function productsAsked(product: readonly string[] | null = null): ProductsAsked {
    const { products } = settings();
    const known = products.map(({ name }) => name);
    checkKnown(product ?? [], known, (name) => `The config has no product ${name}`);
    return { products, product };
  }

  /** The labels of each server as keys of groups. Throws NOT_FOUND for a key that is the label of no server. */
  function labelsFor(groupBy: readonly UsageKey[]) {
    const labels = live.snapshot().servers.map(({ server }) => {
      const keyed = Object.entries(server.labels).map(([name, value]) => [`label:${name}`, value] as const);
      return [server.id, new Map(keyed)] as const;
    });
    const known = [...keys, ...labels.flatMap(([, own]) => [...own.keys()])];
    checkKnown(groupBy, known, (key) => `No license server has a label to group by ${key}`);
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
        // A feature without counts belongs to no product's figures.
        const uncounted = query.product ? [] : uncountedOf(servers, asked.filter);
        const sort = sortOf(query.sort);
        const products = productsAsked(query.product);
        const question = { ...asked, ...products, interval, series, sort, limit, uncounted };
        return reader.answer(exchange, "stats", question, ({ points }) => checkPoints(points));
      },
      documented("read", "Licenses", "Peaks, averages and series of features over a range", {
        description:
          "Averages and percentiles are weighted by time and count covered time alone; utilization goes by the total of " +
          "its own time. Features without coverage in the range are listed where they are named: counts come from polls " +
          "alone, and of times before them imported logs give sessions, usage and denials. An answer of more than " +
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
      documented(
        "read",
        "Licenses",
        "How busy each seat was, and what fewer or more seats would have meant",
        {
          description:
            "With n seats, no more than there are, `saturatedSeconds` is the time in which n or more were in use, and " +
            "`affectedSessions` are those that began when, themselves included, more than n were. With more seats both go by " +
            "the seats in use, plus those that the queue asks for, plus those of each denied request from its first to its " +
            "last attempt (at least 1 s); while a request waits or is denied that is at least one seat more than there are. " +
            "`affectedSessions` then counts the denied and queued requests, too, for which, themselves included, n were not " +
            "enough. Where `demand` is known from nothing, nothing is said of more seats. CSV has a row for each seat and each " +
            "number of seats that was tried, told apart by `part`; X-Total-Count is that of the features.",
          query: EFFICIENCY,
          answers: { 200: listDoc("features", EfficiencyRecord, "Seats of features", EFFICIENCY_FIELDS) },
          errors: ["TIMEOUT"],
        },
      ),
    )
    .get(
      "/api/licenses/heatmap",
      async ({ exchange, query }) => {
        const { asked } = await reader.read(exchange, query, rangeOfDays(28));
        return reader.answer(exchange, "heatmap", asked);
      },
      documented("read", "Licenses", "Use by hour and weekday", {
        description:
          "Several features are laid together: at any moment the sum of those known then. Where samples are gone, " +
          "only a single feature has a heat map.",
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
            `Query parameter "sort" got "${sort.field}", which the groups have only with group_by=${sort.field}.`,
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
          "Counted over the stored sessions, each for the time in which its seats were held: reserved seats that no user " +
          "holds are in the `used` of stats, not in here. A session counts from the first reading that has it to the first " +
          "one without it, with the seats that it had last; only an imported log shows the time before licmond's first poll. Where the range begins before sessions are kept, `start` says " +
          "from when on they were counted. Sorted by seat-hours, the most first, unless told otherwise.",
        query: usageQuery(keys),
        answers: { 200: listDoc("groups", UsageRecord, "Groups", { ...RangeFields, coverage: Coverage }) },
        errors: ["TIMEOUT"],
      }),
    );
}

/** Named features for which the tool prints no count: only their sessions and denials are known. */
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
    `The series would have ${points} points; ${MAX_POINTS} are the most. Ask for a wider interval, a shorter range, fewer features, or series=false.`,
  );
}

function checkedKeys(keys: readonly UsageKey[], known: readonly string[]): readonly UsageKey[] {
  if (keys.length <= 2 && new Set(keys).size === keys.length) return keys;
  throw new ApiError(
    "INVALID_QUERY",
    `Query parameter "group_by" got ${keys.length} keys; it takes one or two different ones of ${[...known, "label:<name>"].join(", ")}.`,
  );
}
