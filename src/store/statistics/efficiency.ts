import type { FeatureId } from "../../domain/history.ts";
import { coveredMs, histogramOfRollup, NO_ROLLUP } from "../../domain/rollup.ts";
import { levelsAtBegin } from "../../domain/stats/concurrency.ts";
import { type Efficiency, efficiencyOf } from "../../domain/stats/efficiency.ts";
import type { HistoryRead } from "../history/read.ts";
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
  const known = read.features(featureFilter(filter));
  const rollups = rollupsOver(read, known, range, false);
  const found = known
    .map((feature, index) => ({ feature, rollup: rollups[index] ?? NO_ROLLUP }))
    .filter(({ rollup }) => filter.features !== null || coveredMs(rollup) > 0);
  const rows = found.slice(offset, offset + limit).map(({ feature: known, rollup }): EfficiencyRow => {
    read.checkpoint();
    const { server, daemon, feature } = known;
    const sessions = sessionsOf(read, known, start, end).map((session) => ({
      ...holdingOf(session),
      count: session.count,
      firstSeenAt: session.firstSeenAt,
    }));
    const { steps } = read.series(known, start, end);
    const levels = levelsAtBegin(sessions, steps, start, end);
    const { total } = rollup;
    return {
      ...{ server, daemon, feature, total },
      ...efficiencyOf(histogramOfRollup(rollup), total, levels),
    };
  });
  return { ...range, rows, total: found.length };
}
