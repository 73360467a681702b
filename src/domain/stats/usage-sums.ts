import type { Step } from "../history.ts";

/**
 * What is added up of a feature's counts over a stretch of time. Sums of neighbouring stretches add up to that of
 * both, so steps and rollups feed the same sums. Times in ms.
 */
export interface UsageSums {
  /** Time in which `used` was known. */
  coveredMs: number;
  /** Seats in use × ms. */
  usedMs: number;
  /** Null while nothing is covered. */
  peakUsed: number | null;
  /** Covered time with a known total above 0: what utilization is measured over. */
  ratedMs: number;
  /** (used / total of that moment) × ms. */
  utilizationMs: number;
  /** Seats issued in the last covered moment; null when unlimited or unknown. */
  total: number | null;
  /** End of the last covered moment (epoch ms); null while nothing is covered. */
  coveredUntil: number | null;
}

export function emptySums(): UsageSums {
  return {
    coveredMs: 0,
    usedMs: 0,
    peakUsed: null,
    ratedMs: 0,
    utilizationMs: 0,
    total: null,
    coveredUntil: null,
  };
}

/** Adds the time [from, to) in which a step held. A gap adds nothing. */
export function addTime(sums: UsageSums, step: Step, from: number, to: number): void {
  const { used, total, unlimited } = step;
  const ms = to - from;
  if (used === null || ms <= 0) return;
  sums.coveredMs += ms;
  sums.usedMs += used * ms;
  if (sums.peakUsed === null || used > sums.peakUsed) sums.peakUsed = used;
  if (!unlimited && total !== null && total > 0) {
    sums.ratedMs += ms;
    sums.utilizationMs += (used / total) * ms;
  }
  noteTotal(sums, unlimited ? null : total, to);
}

/** Adds the sums of another stretch of time, e.g. of a rollup. */
export function addSums(sums: UsageSums, more: Readonly<UsageSums>): void {
  sums.coveredMs += more.coveredMs;
  sums.usedMs += more.usedMs;
  if (more.peakUsed !== null) sums.peakUsed = Math.max(sums.peakUsed ?? 0, more.peakUsed);
  sums.ratedMs += more.ratedMs;
  sums.utilizationMs += more.utilizationMs;
  if (more.coveredUntil !== null) noteTotal(sums, more.total, more.coveredUntil);
}

function noteTotal(sums: UsageSums, total: number | null, until: number): void {
  if (sums.coveredUntil !== null && until < sums.coveredUntil) return;
  sums.total = total;
  sums.coveredUntil = until;
}
