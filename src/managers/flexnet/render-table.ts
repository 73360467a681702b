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
    ...rows,
  ];
}

/** Features that only the table names: all of a daemon whose list is missing, with totals and without use. */
export function tableFeatures(features: readonly FeatureReading[]): Set<FeatureReading> {
  const asked = new Set(features.filter((feature) => !isUnasked(feature)).map(({ daemon }) => daemon));
  return new Set(features.filter(({ daemon }) => !asked.has(daemon)));
}

function isUnasked(feature: FeatureReading): boolean {
  const { pools, used, error } = feature;
  const silent = feature.checkouts.length + feature.reservations.length + feature.queue.length === 0;
  if (used !== null || error !== null || pools.length === 0 || !silent) return false;
  const unlimited = pools.some((pool) => pool.unlimited);
  const total = unlimited ? null : pools.reduce((sum, pool) => sum + (pool.total ?? 0), 0);
  return (
    feature.unlimited === unlimited &&
    feature.total === total &&
    pools.every(
      (pool, index) => isBare(feature, index) && pool.kind === (pool.unlimited ? "uncounted" : "unknown"),
    )
  );
}

/** True for a pool that no line of the block describes: lmstat prints pools in use only. */
export function isTableOnly(feature: FeatureReading, index: number): boolean {
  return feature.pools[index]?.kind === "unknown" && isBare(feature, index);
}

/** True when a row of the table says all that is known of the pool. */
function isBare(feature: FeatureReading, index: number): boolean {
  const pool = feature.pools[index];
  if (pool === undefined || pool.vendorString !== null) return false;
  return fitsTable(feature, pool) && !holds(feature, index);
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
