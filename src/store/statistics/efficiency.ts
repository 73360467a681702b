import type { FeatureId, Series } from "../../domain/history.ts";
import { coveredMs, histogramOfRollup, NO_ROLLUP } from "../../domain/rollup.ts";
import { levelsAtBegin } from "../../domain/stats/concurrency.ts";
import { type Demand, demandOf, UNKNOWN_DEMAND, type UnmetRequest } from "../../domain/stats/demand.ts";
import { type Efficiency, efficiencyOf } from "../../domain/stats/efficiency.ts";
import type { HistoryRead, KnownFeature } from "../history/read.ts";
import { featureFilter, type Named } from "./filters.ts";
import { type Asked, holdings } from "./open-sessions.ts";
import { type Range, type ResolvedRange, resolveRange, rollupsOver } from "./range.ts";
import { sessionsOf } from "./session-rows.ts";

export interface EfficiencyQuery extends Range, Asked {
  readonly filter: Named;
  readonly limit: number;
  readonly offset: number;
}

export interface EfficiencyRow extends FeatureId, Efficiency {
  readonly total: number | null;
  readonly demand: Demand;
}

export interface EfficiencyResult extends ResolvedRange {
  readonly rows: readonly EfficiencyRow[];
  readonly total: number;
}

/** How well seats were used, by feature. Features of which nothing is known in the range are there when named. */
export function efficiencyQuery(read: HistoryRead, query: EfficiencyQuery): EfficiencyResult {
  const { filter, limit, offset } = query;
  const range = resolveRange(query, read.reach());
  const { start, end } = range;
  const { holdingOf } = holdings(read, query);
  // Of what is no longer kept nobody knows whom fewer seats would have kept out.
  const kept = start >= read.sessionsFrom();
  const known = read.features(featureFilter(filter));
  const rollups = rollupsOver(read, known, range, false);
  const found = known
    .map((feature, index) => ({ feature, rollup: rollups[index] ?? NO_ROLLUP }))
    .filter(({ rollup }) => filter.features !== null || coveredMs(rollup) > 0);
  const rows = found.slice(offset, offset + limit).map(({ feature: known, rollup }): EfficiencyRow => {
    read.checkpoint();
    const { server, daemon, feature } = known;
    const series = read.series(known, start, end);
    const levels = kept ? levelsOf(known, series) : null;
    const { total } = rollup;
    // Rollups tell nothing of queues, and denials are kept as long as sessions.
    const { demand, asked } =
      kept && range.resolution === "exact"
        ? demandOf(
            series,
            total,
            unmetRequests(read, known, range),
            isLogged(read, known, series, rollup.coveredUntil ?? start),
          )
        : UNKNOWN_DEMAND;
    return {
      server,
      daemon,
      feature,
      total,
      ...efficiencyOf(histogramOfRollup(rollup), total, levels, asked),
      demand,
    };
  });
  return { ...range, rows, total: found.length };

  /** For each session that began in the range the seats in use with it. */
  function levelsOf(feature: KnownFeature, { steps }: Series): number[] {
    const sessions = sessionsOf(read, feature, start, end).map((session) => ({
      ...holdingOf(session),
      count: session.count,
      firstSeenAt: session.firstSeenAt,
    }));
    return levelsAtBegin(sessions, steps, start, end);
  }
}

/**
 * FlexNet's error numbers of a request for which no seat was left: all are in use, others wait in the queue, the rest is
 * reserved. Who may not use a feature at all asks for no seat. A log that tells no number is taken for the usual case.
 */
const NO_SEAT_CODES = "-4, -24, -101";

function unmetRequests(read: HistoryRead, { server, daemon, feature }: FeatureId, { start, end }: Range) {
  return read.all<UnmetRequest>(
    `SELECT outcome, at, until, count FROM denials INDEXED BY denials_by_feature
     WHERE feature = ? AND at >= ? AND at < ? AND server_id = ? AND daemon = ? AND outcome IN ('denied', 'queued')
       AND (code IS NULL OR code IN (${NO_SEAT_CODES})) ORDER BY at, id`,
    ...[feature, start, end, server, daemon],
  );
}

/** The log must have been read for so much of the time for which counts are known: a restart may leave seconds out. */
const LOGGED_SHARE = 0.95;

function isLogged(read: HistoryRead, feature: FeatureId, { steps }: Series, until: number): boolean {
  const from = steps.find(({ used }) => used !== null)?.at ?? until;
  if (from >= until || read.denials(feature, from, until) === null) return false;
  const [row] = read.all<{ ms: number | null }>(
    `SELECT sum(min(coalesce(to_at, ?1), ?3) - max(from_at, ?2)) AS ms FROM denial_spans
     WHERE server_id = ?4 AND from_at < ?3 AND coalesce(to_at, ?1) > ?2`,
    ...[read.now, from, until, feature.server],
  );
  return (row?.ms ?? 0) >= LOGGED_SHARE * (until - from);
}
