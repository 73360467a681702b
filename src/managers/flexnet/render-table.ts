import { printExpiry } from "../../domain/expiry.ts";
import type { FeatureReading, PoolReading } from "../../domain/reading.ts";

/**
 * The table of `-i` as newer tools print it (Vendor before Expires). Pools whose total or expiry is known stand in
 * it, if the license file could name them: not in the table are pools without a version or with an unknown expiry.
 */
export function renderTable(features: readonly FeatureReading[]): string[] {
  const rows = features.flatMap((feature) => feature.pools.flatMap((pool) => rowOf(feature, pool)));
  if (rows.length === 0) return [];
  return [
    "",
    "NOTE: lmstat -i does not give information from the server,",
    "      but only reads the license file.  For this reason,",
    "      lmstat -a is recommended instead.",
    "",
    row("Feature", "Version", "#licenses", "Vendor", "Expires"),
    row("_______", "_________", "_________", "______", "________"),
    // A block that is printed twice has one line in the license file.
    ...new Set(rows),
  ];
}

/** Features that only the table names: their use is unknown, and no error says why. */
export function tableFeatures(features: readonly FeatureReading[]): Set<FeatureReading> {
  return new Set(
    features.filter((feature) => feature.used === null && feature.error === null && isUnasked(feature)),
  );
}

function isUnasked(feature: FeatureReading): boolean {
  const { pools, checkouts, queue, reservations } = feature;
  const silent = checkouts.length + queue.length + reservations.length === 0;
  return silent && pools.length > 0 && pools.every((_, index) => isTableOnly(feature, index));
}

/** True for a pool that no line of the block describes: lmstat prints pools in use only. */
export function isTableOnly(feature: FeatureReading, index: number): boolean {
  const pool = feature.pools[index];
  if (pool === undefined || !fitsTable(feature, pool)) return false;
  // Where a block adds up, the use of every pool that it prints is known.
  const uncounted = pool.kind === "uncounted" && pool.used === null && feature.consistency === "ok";
  const bare = pool.vendorString === null && (pool.kind === "unknown" || uncounted);
  return bare && !holds(feature, index);
}

function holds({ checkouts, reservations, queue }: FeatureReading, index: number): boolean {
  const under = (held: { pool: number | null }) => held.pool === index;
  return checkouts.some(under) || reservations.some(under) || queue.some(under);
}

function fitsTable(feature: FeatureReading, pool: PoolReading): boolean {
  return (
    feature.daemon !== "" &&
    pool.version !== null &&
    // A count of 0 in a license file means uncounted.
    ((pool.total ?? 0) > 0 || pool.unlimited) &&
    printExpiry(pool.expiry) !== null
  );
}

function rowOf(feature: FeatureReading, pool: PoolReading): string[] {
  if (!fitsTable(feature, pool)) return [];
  const expiry = printExpiry(pool.expiry) ?? "";
  const expires = expiry === "permanent" ? "permanent(no expiration date)" : expiry;
  const count = pool.unlimited ? "uncounted" : String(pool.total);
  return [row(feature.name, (pool.version ?? "").replace(/^v/, ""), count, feature.daemon, expires)];
}

function row(feature: string, version: string, count: string, vendor: string, expires: string): string {
  return `${feature.padEnd(31)} ${version.padEnd(11)} ${count.padEnd(12)} ${vendor.padEnd(13)} ${expires}`;
}
