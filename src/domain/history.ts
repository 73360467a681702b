import type { Unit } from "./words.ts";

/**
 * A feature's counts over time as steps: what every statistic is computed from. Times are epoch ms.
 * A gap (no poll came, the poll failed, the feature was not read) is a step whose `used` is null: unknown is not zero.
 */
export interface FeatureId {
  readonly server: string;
  readonly daemon: string;
  readonly feature: string;
}

/** What a feature's counts count, and with which others it shares that. */
export interface Shared {
  /** Absent = seats. */
  readonly unit?: Unit;
  /** Null or absent = none. */
  readonly seatGroup?: string | null;
}

export interface CountedFeature extends FeatureId, Shared {}

/** These counts hold from `at` to the next step. */
export interface Step {
  readonly at: number;
  /** Seats issued at that time; null when unlimited or unknown. */
  readonly total: number | null;
  /** Null in a gap. */
  readonly used: number | null;
  readonly reserved: number | null;
  readonly queued: number | null;
  readonly unlimited: boolean;
}

/**
 * The steps of one feature in [start, end): ascending, the first one at `start` (what held before is carried in, or a
 * gap), no two equal neighbours.
 */
export interface Series {
  readonly feature: CountedFeature;
  readonly start: number;
  readonly end: number;
  readonly steps: readonly Step[];
}
