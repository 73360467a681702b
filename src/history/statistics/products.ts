import { featureIdKey, type Series, type Step } from "../../domain/history.ts";
import type { ProductRecord } from "../../domain/history-records.ts";
import { seatSets, sharedSets } from "../../domain/polls/seat-groups.ts";
import { efficiencyOf, levelsAtBegin } from "../../domain/stats/efficiency.ts";
import { figuresOf, histogramOfRollup, seatHours, shareOf } from "../../domain/stats/figures.ts";
import { type Asked, clip, type Holding, holdingsAt } from "../../domain/stats/held-seats.ts";
import { createProductOf, type Product } from "../../domain/stats/products.ts";
import { addRollup, createRollupSum, NO_ROLLUP, type Rollup, rollupOf } from "../../domain/stats/rollup.ts";
import { sumOfSeats } from "../../domain/stats/spans.ts";
import { DAY_MS, HOUR_MS } from "../../domain/time/clock.ts";
import type { Named } from "../../store/conditions.ts";
import type { KnownFeature } from "../buckets.ts";
import { historyBegins } from "../range.ts";
import { type HistorySource, type Range, resolveRange } from "../reader.ts";
import { seriesOf } from "../site-days.ts";
import { statsQuery } from "./stats.ts";
import { daysOf } from "./usage.ts";

export interface ProductsAsked {
  /**
   * Products in order of priority. If several products match a feature, the first of them owns the feature.
   */
  readonly products: readonly Product[];
  readonly product: readonly string[] | null;
}

export interface ProductsQuery extends Range, Asked, ProductsAsked {
  readonly filter: Named;
}

export function ofProducts(source: HistorySource, { products, product }: ProductsAsked): HistorySource {
  const productOf = createProductOf(products);
  const isAsked = (feature: KnownFeature) => product?.includes(productOf(feature) ?? "") ?? true;
  return { ...source, features: async (named) => (await source.features(named)).filter(isAsked) };
}

const ALL_ROWS = { interval: null, timezone: "UTC", series: false, sort: null, limit: null, offset: 0 };
const HOURS_A_YEAR = (365 * DAY_MS) / HOUR_MS;

export async function productFigures(source: HistorySource, query: ProductsQuery): Promise<ProductRecord[]> {
  const own = ofProducts(source, query);
  const { rows, start, end } = await statsQuery(own, { ...query, ...ALL_ROWS });
  const rowsOf = Map.groupBy(rows, createProductOf(query.products));
  const held = await heldTogether(own, query);
  return (query.product ?? []).map((product) => {
    const { costPerSeatYear = null, currency = null } =
      query.products.find(({ name }) => name === product) ?? {};
    const list = rowsOf.get(product) ?? [];
    const sessions = sumOf(
      sharedSets(list, ({ server }) => server)
        .flat()
        .map((row) => row.sessions),
    );
    const together = sessions === null ? undefined : held.get(product);
    const { users = null, levels = [], rollup = NO_ROLLUP } = together ?? {};
    const people = {
      uniqueUsers: users?.size ?? null,
      sessions,
      denials: sumOf(list.map(({ denials }) => denials)),
      queuedRequests: sumOf(list.map(({ queuedRequests }) => queuedRequests)),
    };
    const figures = figuresOf(rollup, end - start, { ...people, heldSeatHours: null });
    const total = sumOf(seatSets(list, ({ server }) => server).map(largestTotal));
    const rising = levels.sort((a, b) => a - b);
    const idleSeatHours = idleHours(rollup);
    const isPriced = costPerSeatYear !== null && idleSeatHours !== null;
    return {
      product,
      features: list.length,
      total,
      peakHeld: figures.peakUsed,
      averageHeld: figures.averageUsed,
      p95Held: figures.p95Used,
      heldSeatHours: figures.usedSeatHours,
      idleSeatHours,
      ...people,
      // Do not compute the effect of more seats, because it is unknown which features would get them.
      ...efficiencyOf(histogramOfRollup(rollup), total, rising, null),
      costPerSeatYear,
      idleCost: isPriced ? Math.round((100 * costPerSeatYear * idleSeatHours) / HOURS_A_YEAR) / 100 : null,
      currency,
      coverage: shareOf(sumOf(list.map(({ coverage }) => coverage)) ?? 0, list.length),
    };
  });
}

function largestTotal(members: readonly { readonly total: number | null }[]): number | null {
  const totals = members.flatMap(({ total }) => total ?? []);
  return totals.length < members.length ? null : Math.max(...totals);
}

/**
 * Returns the seats held of each product, and the product's users; empty if sessions or samples of the
 * range are deleted.
 */
async function heldTogether(own: HistorySource, query: ProductsQuery) {
  const { start, end, resolution } = resolveRange(query, await own.reach());
  const found = new Map<string | null, { users: Set<string>; levels: number[]; rollup: Rollup }>();
  if (resolution !== "exact" || start < (await own.sessionsFrom())) return found;
  const { holdingOf } = holdingsAt(await own.lastReadings(), query, await own.gaps());
  const begin = await historyBegins(own, { start, end });
  const productOf = createProductOf(query.products);
  for (const [product, features] of Map.groupBy(await own.features(query.filter), productOf)) {
    const names = features.map(({ feature }) => feature);
    const seats = seatSets(features, ({ server }) => server).flat();
    const counted = new Set(seats.map(featureIdKey));
    const others = new Set(features.map(featureIdKey).filter((key) => !counted.has(key)));
    const filter = { ...query.filter, features: names, users: null, hosts: null };
    const sum = createRollupSum();
    const users = new Set<string>();
    const levels: number[] = [];
    for (const { from, to } of daysOf(begin, end)) {
      // The filter is by name only, so drop sessions of other products: daemons of other servers may have
      // the same name.
      const sessions = (await own.sessions(from, to, filter)).filter(
        (session) => productOf(session) === product,
      );
      const held = sessions
        .filter((session) => !others.has(featureIdKey(session)))
        .map((session) => ({ ...session, ...holdingOf(session) }));
      const series = await seriesOf(own, seats, { start: from, end: to });
      const steps = heldSteps(sumOfSeats(series, from, to), held);
      addRollup(sum, rollupOf({ steps, end: to }, from, to));
      for (const { user } of sessions) if (user !== null) users.add(user);
      for (const level of levelsAtBegin(held, steps, from, to)) levels.push(level);
    }
    found.set(product, { users, levels, rollup: sum.take() });
  }
  return found;
}

/**
 * Returns the held seats of several features as steps over the range of the series. The series is the sum
 * of the features' counts; where it has gaps, the result is unknown. A seat returned at a moment is free at
 * that moment.
 */
function heldSteps(
  { steps, start, end }: Pick<Series, "steps" | "start" | "end">,
  seats: readonly (Holding & { readonly count: number })[],
): Step[] {
  const changes = new Map(steps.map(({ at }) => [at, 0]));
  const change = (at: number, by: number) => changes.set(at, (changes.get(at) ?? 0) + by);
  for (const seat of seats) {
    const part = clip(seat, start, end);
    if (part === null) continue;
    change(part.from, seat.count);
    change(part.to, -seat.count);
  }
  const counts = new Map(steps.map((step) => [step.at, step]));
  let held = 0;
  let current: Step | undefined;
  return [...changes]
    .sort(([a], [b]) => a - b)
    .flatMap(([at, by]) => {
      held += by;
      current = counts.get(at) ?? current;
      return current === undefined ? [] : { ...current, at, used: current.used === null ? null : held };
    });
}

function idleHours({ groups }: Rollup): number | null {
  const idle = groups.flatMap(({ total, levels }) =>
    levels.map(([held, ms]) => (total === null ? null : Math.max(0, total - held) * ms)),
  );
  const sum = sumOf(idle);
  return sum === null ? null : seatHours(sum);
}

function sumOf(parts: readonly (number | null)[]): number | null {
  return parts.length === 0
    ? null
    : parts.reduce((sum, part) => (sum === null || part === null ? null : sum + part), 0);
}
