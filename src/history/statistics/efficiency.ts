import type { FeatureId, Series } from "../../domain/history.ts";
import type { EfficiencyRecord } from "../../domain/history-records.ts";
import { type SortBy, sortedBy } from "../../domain/order.ts";
import { demandOf, UNKNOWN_DEMAND } from "../../domain/stats/demand.ts";
import { efficiencyOf, levelsAtBegin } from "../../domain/stats/efficiency.ts";
import { histogramOfRollup, shareOf } from "../../domain/stats/figures.ts";
import { type Asked, holdingsAt } from "../../domain/stats/held-seats.ts";
import { coveredMs } from "../../domain/stats/rollup.ts";
import type { Named } from "../../store/conditions.ts";
import { featuresOver } from "../range.ts";
import { type HistorySource, type Range, resolveRange } from "../reader.ts";

export const EFFICIENCY_ORDERS = ["server", "daemon", "feature", "total", "coverage", "unit"] as const;

export interface EfficiencyQuery extends Range, Asked {
  readonly filter: Named;
  readonly sort?: SortBy<(typeof EFFICIENCY_ORDERS)[number]> | null;
  readonly limit: number;
  readonly offset: number;
}

/** Returns how well seats were used, by feature; `total` counts the features that matched. */
export async function efficiencyQuery(source: HistorySource, query: EfficiencyQuery) {
  const { filter, limit, offset, sort = null } = query;
  const range = resolveRange(query, await source.reach());
  const { start, end } = range;
  const { holdingOf } = holdingsAt(await source.lastReadings(), query);
  // Where sessions are deleted, it is unknown whom fewer seats would have affected.
  const kept = start >= (await source.sessionsFrom());
  const found = await featuresOver(source, filter, range, false);
  const rows: EfficiencyRecord[] = [];
  const named = found.map((one) => ({
    ...one,
    ...one.feature,
    total: one.rollup.total,
    coverage: shareOf(coveredMs(one.rollup), end - start),
    unit: one.feature.unit ?? "seats",
  }));
  for (const { known, rollup } of (sort ? sortedBy(named, sort) : named).slice(offset, offset + limit)) {
    if (known === null) continue;
    source.checkpoint();
    const { server, daemon, feature, unit = "seats" } = known;
    const series = await source.series(known, start, end);
    const { total } = rollup;
    // Rollups contain no queues, and denials have the retention of sessions, so otherwise the demand is
    // unknown.
    const { demand, asked } =
      kept && range.resolution === "exact"
        ? demandOf(
            series,
            total,
            await source.unmetRequests(known, start, end),
            await isLogged(source, known, series, rollup.coveredUntil ?? start),
          )
        : UNKNOWN_DEMAND;
    rows.push({
      server,
      daemon,
      feature,
      total,
      ...efficiencyOf(histogramOfRollup(rollup), total, kept ? await levelsOf(known, series) : null, asked),
      demand,
      coverage: shareOf(coveredMs(rollup), end - start),
      unit,
    });
  }
  return { ...range, rows, total: found.length };

  async function levelsOf(feature: FeatureId, { steps }: Series): Promise<number[] | null> {
    const sessions = await source.featureSessions(feature, start, end);
    if (sessions.length === 0 && (await source.hasOthersCounts(feature.server, start, end))) return null;
    const held = sessions.map((session) => ({ ...session, ...holdingOf(session) }));
    return levelsAtBegin(held, steps, start, end);
  }
}

/**
 * Minimum share of a range that the log must cover. It is below 1, because a restart may leave out seconds.
 */
const LOGGED_SHARE = 0.95;

async function isLogged(
  source: HistorySource,
  feature: FeatureId,
  { steps }: Series,
  until: number,
): Promise<boolean> {
  const from = steps.find(({ used }) => used !== null)?.at ?? until;
  if (from >= until || (await source.denials(feature, from, until)) === null) return false;
  return (await source.loggedMs(feature.server, from, until)) >= LOGGED_SHARE * (until - from);
}
