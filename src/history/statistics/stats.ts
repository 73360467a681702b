import type { CountedFeature } from "../../domain/history.ts";
import { type SortBy, sortedBy } from "../../domain/order.ts";
import { autoInterval, bucketEdges, type Interval, type Point } from "../../domain/stats/bucketed.ts";
import { type Figures, figuresOf } from "../../domain/stats/figures.ts";
import type { Asked } from "../../domain/stats/held-seats.ts";
import { coveredMs } from "../../domain/stats/rollup.ts";
import type { Named } from "../../store/conditions.ts";
import type { KnownFeature } from "../buckets.ts";
import { featuresOver, historyBegins, pointsFor } from "../range.ts";
import { type HistorySource, type Range, resolveRange } from "../reader.ts";
import { heldHours } from "./usage.ts";

export const MAX_POINTS = 100_000;

export type StatsOrder = keyof CountedFeature | keyof Figures;

type FeatureFigures = Required<CountedFeature> & Figures;

export interface StatsQuery extends Range, Asked {
  readonly filter: Named;
  /** Features to list even if no count was ever read, such as uncounted ones. Default: none. */
  readonly uncounted?: readonly CountedFeature[];
  readonly interval: Interval | null;
  readonly timezone: string;
  readonly series: boolean;
  readonly sort: SortBy<StatsOrder> | null;
  readonly limit: number | null;
  readonly offset: number;
}

/**
 * Returns figures of features and their series. `total` counts the features that matched. `points` is the
 * number of points in the answer; rows that would exceed {@link MAX_POINTS} are left out. A row's `points`
 * are null if no series was requested.
 */
export async function statsQuery(source: HistorySource, query: StatsQuery) {
  const { filter, timezone, limit, offset } = query;
  const range = resolveRange(query, await source.reach());
  const { start, end } = range;
  const chosen = query.interval ?? autoInterval(start, end);
  const interval = range.resolution === "1h" && chosen === "5m" ? "1h" : chosen;

  const found = await featuresOver(source, filter, range, true, query.uncounted);
  const kept = start >= (await source.sessionsFrom());
  const named = filter.features === null ? undefined : found.map(({ feature }) => feature);
  const heldOf = kept ? await heldHours(source, { ...query, ...range }, named) : () => 0;
  const begin = await historyBegins(source, range);
  const figures: (FeatureFigures & { readonly known: KnownFeature | null })[] = [];
  for (const { feature: id, known, rollup } of found) {
    source.checkpoint();
    const others = rollup.users.length === 0 && (await source.hasOthersCounts(id.server, start, end));
    // Only licmond's own readings prove that a feature had no users, because other monitors' counts name no
    // users.
    const looked = coveredMs(rollup) > 0 && !others;
    const sessions = kept ? await source.sessionCount(id, start, end) : 0;
    // Sessions from logs also count at times without polls. If logs show no session, this does not prove
    // that there was none.
    const told = kept && (looked || sessions > 0);
    // Imported logs also have denials from before the first poll, which rollups do not cover.
    const until = known === null ? end : begin;
    const earlier = kept && start < until ? await source.denials(id, start, until) : null;
    const denials = earlier === null ? rollup.denials : earlier + (rollup.denials ?? 0);
    const row = figuresOf(rollup, end - start, {
      uniqueUsers: looked ? rollup.users.length : null,
      sessions: told ? sessions : null,
      heldSeatHours: told ? heldOf(id) : null,
      denials,
      queuedRequests: kept && denials !== null ? await source.queuedRequests(id, start, end) : null,
    });
    const { server, daemon, feature, unit = "seats", seatGroup = null } = id;
    figures.push({ known, server, daemon, feature, ...row, unit, seatGroup });
  }
  const sorted = query.sort === null ? figures : sortedBy(figures, query.sort);
  const page = sorted.slice(offset, limit === null ? undefined : offset + limit);

  const edges = query.series ? bucketEdges(interval, start, end, timezone) : [];
  const points = page.length * Math.max(0, edges.length - 1);
  const rows: (FeatureFigures & { readonly points: readonly Point[] | null })[] = [];
  for (const { known, ...row } of points > MAX_POINTS ? [] : page) {
    source.checkpoint();
    rows.push({ ...row, points: query.series ? await pointsFor(source, known, range, edges) : null });
  }
  return { ...range, interval, total: found.length, points, rows };
}
