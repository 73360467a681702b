import type { Unit } from "./words.ts";

/**
 * A feature's counts over time as steps, the input of every statistic. Times are epoch ms. A gap (no poll, a
 * failed poll, or the feature was not read) is a step whose `used` is null: unknown is not zero.
 */
export interface FeatureId {
  readonly server: string;
  readonly daemon: string;
  readonly feature: string;
}

/** Key of a feature at one server. Names may contain anything except NUL, which no tool prints. */
export function featureKey(daemon: string, name: string): string {
  return `${daemon}\0${name}`;
}

/** Splits a key of {@link featureKey}. */
export function featureOfKey(key: string): [daemon: string, name: string] {
  const [daemon = "", name = ""] = key.split("\0");
  return [daemon, name];
}

/** Key of a feature at any server. */
export function featureIdKey({ server, daemon, feature }: NullableId): string {
  return `${server ?? ""}\0${daemon ?? ""}\0${feature ?? ""}`;
}

type NullableId = Partial<Readonly<Record<keyof FeatureId, string | null>>>;

/** The unit of a feature's counts, and the features that share its seats. */
export interface Shared {
  /** Absent means seats. */
  readonly unit?: Unit;
  /** Null or absent = none. */
  readonly seatGroup?: string | null;
}

export interface CountedFeature extends FeatureId, Shared {}

/** Counts that hold from `at` to the next step. */
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
 * Steps of one feature in [start, end), ascending. The first is at `start` (the previous counts carried over,
 * or a gap); no two neighbors are equal.
 */
export interface Series {
  readonly feature: CountedFeature;
  readonly start: number;
  readonly end: number;
  readonly steps: readonly Step[];
}
