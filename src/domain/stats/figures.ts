import { quantile } from "./histogram.ts";
import { histogramOfRollup, type Rollup, sumsOfRollup } from "./rollup.ts";
import { fourDecimals, percentOf, seatHours, shareOf } from "./rounding.ts";

/** The figures of one feature over a range (record `stats` of the contract). Unknown is null. */
export interface Figures {
  /** Seats issued when they were last known in the range; null when unlimited or unknown. */
  readonly total: number | null;
  readonly peakUsed: number | null;
  readonly averageUsed: number | null;
  readonly p95Used: number | null;
  /** Percent, of the total of its own time. */
  readonly peakUtilization: number | null;
  readonly averageUtilization: number | null;
  readonly uniqueUsers: number | null;
  readonly sessions: number | null;
  /** Reservations included. */
  readonly usedSeatHours: number | null;
  /** What people held: of the sessions. */
  readonly heldSeatHours: number | null;
  readonly saturatedSeconds: number | null;
  /** Null while denial logging is off. */
  readonly denials: number | null;
  /** Requests that got a place in the queue, by the log; null where `denials` is. */
  readonly queuedRequests: number | null;
  /** Share of the range that is covered, 0–1. */
  readonly coverage: number;
}

/** What the figures need beside the counts. */
export interface People {
  readonly uniqueUsers: number | null;
  readonly sessions: number | null;
  readonly heldSeatHours: number | null;
  readonly denials: number | null;
  readonly queuedRequests: number | null;
}

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
