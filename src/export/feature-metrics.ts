import type { FeaturePicture } from "../domain/picture.ts";
import { type Emit, emitKnown, gauge, type Labels, seconds } from "./family.ts";

/** Families about features and their pools. */
export const FEATURE = {
  issued: gauge("license_feature_seats_issued", "Seats issued; absent when unlimited, unknown or stale."),
  used: gauge(
    "license_feature_seats_used",
    "Seats in use as the tool says it, reservations included; absent when unknown or stale.",
  ),
  available: gauge(
    "license_feature_seats_available",
    "Seats left, below 0 when more are in use than issued; absent when unlimited, unknown or stale.",
  ),
  reserved: gauge("license_feature_seats_reserved", "Seats kept by reservations."),
  queued: gauge("license_feature_seats_queued", "Seats asked for by requests that wait."),
  utilization: gauge(
    "license_feature_utilization_ratio",
    "Seats in use by seats issued, 1 = all; absent when unlimited, unknown or stale.",
  ),
  unlimited: gauge(
    "license_feature_unlimited",
    "1 when seats are unlimited or uncounted; absent when stale.",
  ),
  state: gauge(
    "license_feature_state",
    "Always 1, with the state of the numbers: ok, partial, stale (not read by the last poll) or failed.",
  ),
  collected: gauge(
    "license_feature_collected_timestamp_seconds",
    "Time of the last good reading of the feature; absent before the first.",
  ),
  poolIssued: gauge(
    "license_pool_seats_issued",
    "Seats of the pool; absent when unlimited, unknown or stale.",
  ),
  poolUsed: gauge("license_pool_seats_used", "Seats of the pool in use; absent where the tool prints none."),
  poolExpiry: gauge(
    "license_pool_expiry_timestamp_seconds",
    "End of the last day on which the pool is valid; absent when permanent or unknown.",
  ),
} as const;

/** Hands out one feature. Its expiry dates stay while its numbers are stale: a date is no measurement. */
export function emitFeature(server: string, feature: FeaturePicture, emit: Emit): void {
  const labels: Labels = [
    ["server", server],
    ["daemon", feature.daemon],
    ["feature", feature.name],
  ];
  const fresh = feature.state === "ok" || feature.state === "partial";
  emit(FEATURE.state, [...labels, ["state", feature.state]], 1);
  emitKnown(emit, FEATURE.collected, labels, seconds(feature.collectedAt));
  if (fresh) emitNumbers(feature, labels, emit);
  for (const pool of feature.pools) {
    const inPool: Labels = [...labels, ["pool", pool.id], ["version", pool.version ?? ""]];
    emitKnown(emit, FEATURE.poolExpiry, inPool, seconds(pool.expiry.expiresAt));
    if (!fresh) continue;
    if (!pool.unlimited) emitKnown(emit, FEATURE.poolIssued, inPool, pool.total);
    emitKnown(emit, FEATURE.poolUsed, inPool, pool.used);
  }
}

function emitNumbers(feature: FeaturePicture, labels: Labels, emit: Emit): void {
  const { total, used, unlimited } = feature;
  emit(FEATURE.unlimited, labels, unlimited ? 1 : 0);
  emitKnown(emit, FEATURE.issued, labels, total);
  emitKnown(emit, FEATURE.used, labels, used);
  emitKnown(emit, FEATURE.available, labels, feature.available);
  emitKnown(emit, FEATURE.reserved, labels, feature.reserved);
  emitKnown(emit, FEATURE.queued, labels, feature.queued);
  if (!unlimited && total !== null && used !== null && total > 0)
    emit(FEATURE.utilization, labels, used / total);
}
