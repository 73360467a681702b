import { type Histogram, quantile } from "./histogram.ts";
import { fourDecimals, percentOf, seatHours, shareOf } from "./rounding.ts";
import type { UsageSums } from "./usage-sums.ts";

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

export function figuresOf(
  sums: Readonly<UsageSums>,
  histogram: Histogram,
  rangeMs: number,
  people: People,
): Figures {
  const { coveredMs, ratedMs } = sums;
  const covered = coveredMs > 0;
  return {
    total: sums.total,
    peakUsed: sums.peakUsed,
    averageUsed: covered ? fourDecimals(sums.usedMs / coveredMs) : null,
    p95Used: quantile(histogram, P95),
    peakUtilization: percentOf(sums.peakUtilization),
    averageUtilization: ratedMs > 0 ? percentOf(sums.utilizationMs / ratedMs) : null,
    uniqueUsers: people.uniqueUsers,
    sessions: people.sessions,
    usedSeatHours: covered ? seatHours(sums.usedMs) : null,
    heldSeatHours: people.heldSeatHours,
    saturatedSeconds: sums.judgedMs > 0 ? Math.round(sums.saturatedMs / 1000) : null,
    denials: people.denials,
    queuedRequests: people.queuedRequests,
    coverage: shareOf(coveredMs, rangeMs),
  };
}
