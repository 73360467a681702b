import {
  type CheckoutReading,
  type Consistency,
  type DaemonReading,
  type Expiry,
  type FeatureReading,
  type PoolReading,
  UNKNOWN_EXPIRY,
} from "../../domain/reading.ts";
import type { parseCounts, parseFeatureLine } from "./lines.ts";
import { unitOf } from "./units.ts";

export type FeatureDraft = ReturnType<typeof createFeatureDraft>;

/** A feature's block while its lines are read. */
export function createFeatureDraft(head: NonNullable<ReturnType<typeof parseFeatureLine>>) {
  return {
    head,
    keyType: "",
    expiry: UNKNOWN_EXPIRY as Expiry,
    counts: null as ReturnType<typeof parseCounts>,
    checkouts: [] as CheckoutReading[],
    /** The text ended within its lines, or a line was not understood. */
    cut: false,
  };
}

/**
 * Builds the feature. Blocks of several versions of a feature stay separate here; the picture merges them into pools.
 */
export function readFeature({ head, keyType, expiry, counts, checkouts, cut }: FeatureDraft): FeatureReading {
  const unlimited = counts?.unlimited ?? false;
  const total = counts?.total ?? null;
  const used = counts?.used ?? null;
  const unit = unitOf(head, keyType, unlimited);
  const kind: PoolReading["kind"] = keyType === "TOKEN" ? "token" : unlimited ? "uncounted" : "floating";
  return {
    daemon: head.vendor,
    name: head.name,
    ...(unit !== "seats" && { unit }),
    total,
    used,
    unlimited,
    error: null,
    pools: [
      { number: null, version: head.version, vendorString: null, kind, total, used, unlimited, expiry },
    ],
    checkouts,
    reservations: [],
    queue: [],
    consistency: compare(used, checkouts),
    cut,
  };
}

/**
 * Compares the used count with the sum of the holders' counts. Holders who share a license are each printed with its
 * count.
 */
function compare(used: number | null, checkouts: readonly CheckoutReading[]): Consistency {
  const held = checkouts.reduce((sum, { count }) => sum + count, 0);
  if (used === null || used === held) return "ok";
  return used > held ? "short" : "shared";
}

/**
 * Returns the vendors of the printed features. An LM-X server runs one or more vendors and prints no state for them.
 */
export function daemonsOf(features: readonly FeatureDraft[]): DaemonReading[] {
  const names = new Set(features.map(({ head }) => head.vendor));
  return [...names].map((name) => ({ name, status: "up", version: null, error: null, totals: null }));
}
