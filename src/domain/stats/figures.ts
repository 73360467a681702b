import type { FeatureId } from "../history.ts";
import type { StatsRecord } from "../history-records.ts";
import { quantile } from "./histogram.ts";
import { histogramOfRollup, type Rollup, sumsOfRollup } from "./rollup.ts";
import { fourDecimals, percentOf, seatHours, shareOf } from "./rounding.ts";

/** The figures of one feature over a range. Unknown is null. */
export type Figures = Omit<StatsRecord, keyof FeatureId | "series">;

/** The figures that do not follow from the counts. */
export type People = Pick<
  Figures,
  "uniqueUsers" | "sessions" | "heldSeatHours" | "denials" | "queuedRequests"
>;

const P95 = 0.95;

export function figuresOf(rollup: Rollup, rangeMs: number, people: People): Figures {
  const { coveredMs, usedMs, peakUsed, ratedMs, utilizationMs, total } = sumsOfRollup(rollup);
  const covered = coveredMs > 0;
  return {
    total,
    peakUsed,
    averageUsed: covered ? fourDecimals(usedMs / coveredMs) : null,
    p95Used: quantile(histogramOfRollup(rollup), P95),
    peakUtilization: percentOf(peakUtilization(rollup)),
    averageUtilization: ratedMs > 0 ? percentOf(utilizationMs / ratedMs) : null,
    uniqueUsers: people.uniqueUsers,
    sessions: people.sessions,
    usedSeatHours: covered ? seatHours(usedMs) : null,
    heldSeatHours: people.heldSeatHours,
    saturatedSeconds: saturatedSeconds(rollup),
    denials: people.denials,
    queuedRequests: people.queuedRequests,
    coverage: shareOf(coveredMs, rangeMs),
  };
}

/** Highest used / total; null while no total above 0 is known. */
function peakUtilization({ groups }: Rollup): number | null {
  const ratios = groups.flatMap(({ total, levels }) =>
    total === null || total === 0 ? [] : [(levels.at(-1)?.[0] ?? 0) / total],
  );
  return ratios.length === 0 ? null : Math.max(...ratios);
}

/** For how long no seat was left: used ≥ total > 0; null where it cannot be said whether seats were left. */
function saturatedSeconds({ groups }: Rollup): number | null {
  const judged = groups.filter(({ total, unlimited }) => unlimited || (total !== null && total > 0));
  if (judged.length === 0) return null;
  const saturated = judged.flatMap(({ total, levels }) =>
    levels.flatMap(([used, ms]) => (total !== null && used >= total ? [ms] : [])),
  );
  return Math.round(saturated.reduce((sum, ms) => sum + ms, 0) / 1000);
}
