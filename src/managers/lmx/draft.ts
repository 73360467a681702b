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

/** One feature's block while its lines are gathered. */
export function createFeatureDraft(head: NonNullable<ReturnType<typeof parseFeatureLine>>) {
  return {
    head,
    keyType: "",
    expiry: UNKNOWN_EXPIRY as Expiry,
    counts: null as ReturnType<typeof parseCounts>,
    checkouts: [] as CheckoutReading[],
    /** The text ended within its lines, or one of them was not understood. */
    cut: false,
  };
}

/** Blocks of one feature in several versions stay several: the picture makes them its pools. */
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

/** LM-X's own check: used = Σ counts of the holders. Holders who share a license are each printed with its count. */
function compare(used: number | null, checkouts: readonly CheckoutReading[]): Consistency {
  const held = checkouts.reduce((sum, { count }) => sum + count, 0);
  if (used === null || used === held) return "ok";
  return used > held ? "short" : "shared";
}

/** The vendors whose features were printed: a server of LM-X runs one vendor's part or several, and names no state. */
export function daemonsOf(features: readonly FeatureDraft[]): DaemonReading[] {
  const names = new Set(features.map(({ head }) => head.vendor));
  return [...names].map((name) => ({ name, status: "up", version: null, error: null, totals: null }));
}
