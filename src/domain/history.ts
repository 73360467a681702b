import type { Unit } from "./words.ts";

/**
 * A feature's counts over time are steps, from which all statistics are computed. Times are epoch ms. A gap
 * (no poll, a failed poll, or a feature that was not read) is a step whose `used` is null.
 */
export interface FeatureId {
  readonly server: string;
  readonly daemon: string;
  readonly feature: string;
}

/** Returns the key of a feature at one server. No tool prints NUL in a name. */
export function featureKey(daemon: string, name: string): string {
  return `${daemon}\0${name}`;
}

export function featureOfKey(key: string): [daemon: string, name: string] {
  const [daemon = "", name = ""] = key.split("\0");
  return [daemon, name];
}

/** Returns the key of a feature at any server. */
export function featureIdKey({ server, daemon, feature }: NullableId): string {
  return `${server ?? ""}\0${daemon ?? ""}\0${feature ?? ""}`;
}

type NullableId = Partial<Readonly<Record<keyof FeatureId, string | null>>>;

/** Unit of a feature's counts, and the seat group that it belongs to. */
export interface Shared {
  /** Unit of the counts; absent means seats. */
  readonly unit?: Unit;
  /** Seat group of the feature; null or absent means none. */
  readonly seatGroup?: string | null;
}

export interface CountedFeature extends FeatureId, Shared {}

/** Counts that hold from `at` to the next step. */
export interface Step {
  readonly at: number;
  /** Number of seats; null if unlimited or unknown. */
  readonly total: number | null;
  /** Number of seats in use; null in a gap. */
  readonly used: number | null;
  readonly reserved: number | null;
  readonly queued: number | null;
  readonly unlimited: boolean;
}

/**
 * Steps of one feature in [start, end), ascending. The first step is at `start` and has the counts that
 * held then, or is a gap. Neighboring steps differ.
 */
export interface Series {
  readonly feature: CountedFeature;
  readonly start: number;
  readonly end: number;
  readonly steps: readonly Step[];
}
