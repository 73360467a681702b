import type { FeatureId } from "../../domain/history.ts";
import { coveredMs, histogramOfRollup, NO_ROLLUP, sumsOfRollup } from "../../domain/rollup.ts";
import { createBucketed, type Point } from "../../domain/stats/bucketed.ts";
import { autoInterval, bucketEdges, type Interval } from "../../domain/stats/buckets.ts";
import { type Figures, figuresOf } from "../../domain/stats/figures.ts";
import type { HistoryRead, KnownFeature } from "../history/read.ts";
import { featureFilter, type Named } from "./filters.ts";
import { heldHours } from "./held-hours.ts";
import type { Asked } from "./open-sessions.ts";
import { sessionCounter } from "./people.ts";
import { historyBegins, type Range, type ResolvedRange, resolveRange, rollupsOver } from "./range.ts";
import { pointsFor } from "./series.ts";
import { type SortBy, sortedBy } from "./sorted.ts";

/** Points of all series of one answer. */
export const MAX_POINTS = 100_000;

export type StatsOrder = keyof FeatureId | keyof Figures;

export interface StatsQuery extends Range, Asked {
  readonly filter: Named;
  /** Features to tell of even when no count of theirs was ever read, as of uncounted ones. Default: none. */
  readonly uncounted?: readonly FeatureId[];
  /** Null = the smallest that gives few enough buckets. */
  readonly interval: Interval | null;
  /** IANA zone of day buckets. */
  readonly timezone: string;
  readonly series: boolean;
  /** Null = by server, daemon and name. */
  readonly sort: SortBy<StatsOrder> | null;
  readonly limit: number | null;
  readonly offset: number;
}

export interface StatsRow extends FeatureId, Figures {
  /** Null where no series was asked for. */
  readonly points: readonly Point[] | null;
}

export interface StatsResult extends ResolvedRange {
  readonly interval: Interval;
  readonly rows: readonly StatsRow[];
  /** Features that matched. */
  readonly total: number;
  /** Points that the answer would have had; above {@link MAX_POINTS} `rows` is empty. */
  readonly points: number;
}

/** Figures of features, and their series. Features of which nothing is known in the range are there when named. */
export function statsQuery(read: HistoryRead, query: StatsQuery): StatsResult {
  const { filter, timezone, limit, offset } = query;
  const range = resolveRange(query, read.reach());
  const { start, end } = range;
  const chosen = query.interval ?? autoInterval(start, end);
  const interval = range.resolution === "1h" && chosen === "5m" ? "1h" : chosen;

  const counted = read.features(featureFilter(filter));
  const rollups = rollupsOver(read, counted, range, true);
  const found = withUncounted(counted, query.uncounted ?? [])
    .map(({ feature, known }, index) => ({ feature, known, rollup: rollups[index] ?? NO_ROLLUP }))
    .filter(({ rollup }) => filter.features !== null || coveredMs(rollup) > 0);
  const sessionsOf = sessionCounter(read, range);
  const kept = start >= read.sessionsFrom();
  const heldOf = kept ? heldHours(read, filter, range, query) : () => 0;
  const begin = historyBegins(read, range);
  const queuedRequests = queuedRequestsOf(read, range);
  const figures = found.map(({ feature: id, known, rollup }) => {
    read.checkpoint();
    const { server, daemon, feature } = id;
    const looked = coveredMs(rollup) > 0;
    const sessions = kept ? sessionsOf(id) : 0;
    // Logs tell of sessions where nobody looked, but not that there were none.
    const told = kept && (looked || sessions > 0);
    // Of the time before the first poll imported logs tell; of what has no counts there are no rollups.
    const until = known === null ? end : begin;
    const earlier = kept && start < until ? read.denials(id, start, until) : null;
    const denials = earlier === null ? rollup.denials : earlier + (rollup.denials ?? 0);
    const row = figuresOf(sumsOfRollup(rollup), histogramOfRollup(rollup), end - start, {
      uniqueUsers: looked ? rollup.users.length : null,
      sessions: told ? sessions : null,
      heldSeatHours: told ? heldOf(id) : null,
      denials,
      queuedRequests: kept && denials !== null ? queuedRequests(id) : null,
    });
    return { known, server, daemon, feature, ...row };
  });
  const sorted = query.sort === null ? figures : sortedBy(figures, query.sort);
  const page = sorted.slice(offset, limit === null ? undefined : offset + limit);

  const edges = query.series ? bucketEdges(interval, start, end, timezone) : [];
  const points = page.length * Math.max(0, edges.length - 1);
  const answer = { ...range, interval, total: found.length, points };
  if (points > MAX_POINTS) return { ...answer, rows: [] };
  const rows = page.map(({ known, ...row }): StatsRow => {
    read.checkpoint();
    return { ...row, points: query.series ? pointsOf(known) : null };
  });
  return { ...answer, rows };

  function pointsOf(known: KnownFeature | null): Point[] {
    return known === null ? createBucketed(edges).points() : pointsFor(read, known, range, edges);
  }
}

function keyOf({ server, daemon, feature }: FeatureId): string {
  return JSON.stringify([server, daemon, feature]);
}

/** Denials are kept as long as sessions. */
function queuedRequestsOf(read: HistoryRead, { start, end }: Range): (feature: FeatureId) => number {
  const rows = read.all<FeatureId & { requests: number }>(
    `SELECT server_id AS server, daemon, feature, count(*) AS requests FROM denials INDEXED BY denials_by_time
     WHERE at >= ? AND at < ? AND outcome = 'queued' GROUP BY server_id, daemon, feature`,
    ...[start, end],
  );
  const counts = new Map(rows.map((row) => [keyOf(row), row.requests]));
  return (feature) => counts.get(keyOf(feature)) ?? 0;
}

/** What is counted stands first, as it came. */
function withUncounted(counted: readonly KnownFeature[], others: readonly FeatureId[]) {
  const keys = new Set(others.length === 0 ? [] : counted.map(keyOf));
  return [
    ...counted.map((feature) => ({ feature, known: feature })),
    ...others.filter((id) => !keys.has(keyOf(id))).map((feature) => ({ feature, known: null })),
  ];
}
