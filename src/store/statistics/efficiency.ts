import type { FeatureId } from "../../domain/history.ts";
import { coveredMs, histogramOfRollup, NO_ROLLUP } from "../../domain/rollup.ts";
import { levelsAtBegin } from "../../domain/stats/concurrency.ts";
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
    const levels = kept ? levelsOf(known) : null;
    const { total } = rollup;
    return {
      ...{ server, daemon, feature, total },
      ...efficiencyOf(histogramOfRollup(rollup), total, levels),
    };
  });
  return { ...range, rows, total: found.length };

  /** For each session that began in the range the seats in use with it. */
  function levelsOf(feature: KnownFeature): number[] {
    const sessions = sessionsOf(read, feature, start, end).map((session) => ({
      ...holdingOf(session),
      count: session.count,
      firstSeenAt: session.firstSeenAt,
    }));
    return levelsAtBegin(sessions, read.series(feature, start, end).steps, start, end);
  }
}
