import { type FeatureId, featureIdKey } from "../../domain/history.ts";
import { type SortBy, sortedBy } from "../../domain/order.ts";
import { sharedSets } from "../../domain/polls/seat-groups.ts";
import { siteOf } from "../../domain/server.ts";
import { seatHours, shareOf } from "../../domain/stats/figures.ts";
import {
  type Asked,
  clip,
  countedMs,
  type Holding,
  holdingsAt,
  sumsOf,
} from "../../domain/stats/held-seats.ts";
import { createProductOf, type Product } from "../../domain/stats/products.ts";
import { createUsage, nameOf, type UsageGroup, type UsageKey } from "../../domain/stats/usage.ts";
import { DAY_MS } from "../../domain/time/clock.ts";
import type { SessionFilter } from "../../store/conditions.ts";
import { dayOf } from "../buckets.ts";
import type { HistorySource, Range } from "../reader.ts";

export interface UsageQuery extends Range, Asked {
  readonly filter: SessionFilter;
  readonly groupBy: readonly UsageKey[];
  readonly timezone: string;
  readonly sort: SortBy<UsageOrder>;
  readonly limit: number;
  readonly offset: number;
  readonly products?: readonly Product[];
  readonly labels?: ReadonlyMap<string, ReadonlyMap<string, string>>;
}

const NO_FILTER: SessionFilter = { servers: null, daemons: null, features: null, users: null, hosts: null };

const USAGE_ORDERS_BY_KEY = ["site", "server", "daemon", "feature", "product", "day"] as const;
/** Order of equal groups; people are ordered by their displayed names. */
const TIES = [...USAGE_ORDERS_BY_KEY, "user", "host"] as const;
export const USAGE_ORDERS = [
  "heldSeatHours",
  "sessions",
  "peakHeld",
  "uniqueUsers",
  "lastUsedAt",
  ...TIES,
  "unit",
] as const;
export type UsageOrder = (typeof USAGE_ORDERS)[number];

/**
 * Returns usage by group, sorted and paged. `shown` returns a name as the caller may see it. Groups contain
 * this name and are ordered by it, so that the order does not reveal hidden names. The returned range
 * begins where sessions are kept. `total` counts all groups; `coverage` is the mean over the servers whose
 * seats are counted.
 */
export async function usageQuery(
  source: HistorySource,
  query: UsageQuery,
  shown: (key: UsageKey, name: string | null) => string | null = (_, name) => name,
) {
  const { end, filter, limit, offset } = query;
  const start = Math.min(Math.max(query.start, await source.sessionsFrom()), end);
  const { groupBy, labels } = query;
  const productOf = createProductOf(query.products ?? []);
  const features = await source.features(filter);
  const units = new Map(features.map((feature) => [featureIdKey(feature), feature.unit ?? "seats"]));
  // A single feature is counted in its own unit; several features are counted only if their unit is seats.
  const isOfOne = groupBy.includes("feature");
  const common = features.length === 1 ? (features[0]?.unit ?? "seats") : "seats";
  const isCounted = (feature: FeatureId) => (units.get(featureIdKey(feature)) ?? "seats") === common;
  const isMixed = !isOfOne && [...units.values()].some((unit) => unit !== common);
  // Find packages within each product, because a product may contain a component without its package.
  const together = Map.groupBy(features, groupBy.includes("product") ? productOf : () => null);
  const sets = [...together.values()].flatMap((of) => sharedSets(of, ({ server }) => server));
  const apart = new Set(sets.flat());
  const components = new Set(features.filter((feature) => !apart.has(feature)).map(featureIdKey));
  const isComponent = (feature: FeatureId) => components.has(featureIdKey(feature));
  const gaps = await source.gaps();
  const usage = createUsage(
    groupBy,
    start,
    end,
    query.timezone,
    (key, feature) => {
      if (key === "product") return productOf(feature);
      if (key === "site") return siteOf(feature.server);
      return key.startsWith("label:")
        ? (labels?.get(feature.server)?.get(key) ?? null)
        : nameOf(key, feature);
    },
    isMixed ? isCounted : null,
    isOfOne || components.size === 0 ? null : isComponent,
    gaps,
  );
  const { holdingOf } = holdingsAt(await source.lastReadings(), query, gaps);
  for (const { from, to } of daysOf(start, end)) {
    source.checkpoint();
    usage.add(await source.held(from, to, filter, holdingOf), from, to);
  }
  const groups = usage.groups().map((group) => {
    const keys: UsageGroup["keys"] = Object.fromEntries(
      Object.entries(group.keys).map(([key, name]) => [key, shown(key as UsageKey, name ?? null)]),
    );
    const { server = "", daemon = "", feature = "" } = group.keys as Partial<FeatureId>;
    const unit = isOfOne ? (units.get(featureIdKey({ server, daemon, feature })) ?? "seats") : common;
    return { ...group, ...keys, keys, unit };
  });
  const sorted = sortedBy(groups, query.sort, ...TIES, ...groupBy);
  const servers = new Set(features.map(({ server }) => server));
  let readMs = 0;
  for (const server of servers) readMs += await source.readMs(server, start, end);
  const coverage = shareOf(readMs, servers.size * (end - start));
  return { start, end, coverage, rows: sorted.slice(offset, offset + limit), total: sorted.length };
}

/** Maximum number of features that are looked up one by one; for more, whole days are read. */
const FEW = 20;

export async function heldHours(
  source: HistorySource,
  range: Range & Asked,
  of?: readonly FeatureId[],
): Promise<(feature: FeatureId) => number> {
  const { start, end } = range;
  const gaps = await source.gaps();
  const { holdingOf } = holdingsAt(await source.lastReadings(), range, gaps);
  const sums = new Map<string, number>();
  const add = (feature: FeatureId, ms: number) =>
    void sums.set(featureIdKey(feature), (sums.get(featureIdKey(feature)) ?? 0) + ms);
  const few = of !== undefined && of.length <= FEW ? of : null;
  const [first, behind] = [Math.ceil(start / DAY_MS), dayOf(end)];
  const packed = await source.daysPacked(first, behind);
  for (const one of few ?? [undefined])
    for (const sum of await source.heldSums(first, behind, one)) add(sum, sum.seatMs);
  for (const { from, to } of daysOf(start, end)) {
    if (to - from === DAY_MS && packed.has(dayOf(from))) continue;
    source.checkpoint();
    for (const feature of few ?? [])
      for (const session of await source.featureSessions(feature, from, to)) {
        const part = clip(holdingOf(session), from, to);
        if (part !== null) add(feature, session.count * countedMs(gaps, feature.server, part.from, part.to));
      }
    if (few !== null) continue;
    for (const sum of sumsOf(await source.held(from, to, NO_FILTER, holdingOf), from, to, gaps))
      add(sum, sum.seatMs);
  }
  return (feature) => seatHours(sums.get(featureIdKey(feature)) ?? 0);
}

export function* daysOf(start: number, end: number): Generator<Holding> {
  for (let from = start, to = start; from < end; from = to) {
    to = Math.min((dayOf(from) + 1) * DAY_MS, end);
    yield { from, to };
  }
}
