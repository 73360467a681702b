import { earlierExpiry } from "../expiry.ts";
import type { FeaturePicture, PoolPicture } from "../picture.ts";
import { type FeatureReading, type PoolReading, UNKNOWN_EXPIRY } from "../reading.ts";
import { withFirstSeen } from "../time/wait.ts";
import type { DataState } from "../words.ts";

/**
 * The states of a feature's numbers, in the one place that knows them:
 *
 * | what the last poll yielded for the feature | state | numbers |
 * | --- | --- | --- |
 * | a block whose lines add up (or to which the check does not apply) | `ok` | as read |
 * | a block with more lines than seats in use | `ok`, `shared` | as read |
 * | a block with too few lines, with one that no rule knew, or cut by the end of the text | `partial` | as read |
 * | an error of the tool for the feature | `failed` | null |
 * | an error while its daemon is not up; or nothing at all (see `apply-poll.ts`) | `stale` | the last good ones |
 * | the same, and never read before | `failed` | null |
 */
export function stateOfBlock(block: Pick<FeatureReading, "error" | "consistency" | "cut">): DataState {
  if (block.error !== null) return "failed";
  return block.cut || block.consistency === "short" ? "partial" : "ok";
}

/**
 * A feature as this poll's block shows it. `previous` lends its pools to a block that prints none once, and tells
 * since when an entry of the queue waits.
 */
export function readFeature(
  block: FeatureReading,
  collectedAt: number,
  previous: FeaturePicture | null,
): FeaturePicture {
  const state = stateOfBlock(block);
  if (state === "failed") return failedFeature(block.daemon, block.name, block.error?.message ?? null);

  // The pool lines and the expiry table stand apart from the counts: a text that lacks them once may be cut.
  const lendPools = block.pools.length === 0 && previous !== null && previous.pools.length > 0;
  const keepsLent = lendPools && previous.missedPools === 0;
  const pools = keepsLent ? previous.pools : withIds(block.pools);
  const counts = block.total !== null && !block.unlimited && block.used !== null;
  return {
    daemon: block.daemon,
    name: block.name,
    total: block.unlimited ? null : block.total,
    used: block.used,
    available: counts ? (block.total ?? 0) - (block.used ?? 0) : null,
    reserved: block.reserved ?? sumOf(block.reservations),
    queued: sumOf(block.queue),
    unlimited: block.unlimited,
    utilization: counts ? percent(block.used ?? 0, block.total ?? 0) : null,
    shared: block.consistency === "shared",
    expiry: pools.map((pool) => pool.expiry).reduce(earlierExpiry, UNKNOWN_EXPIRY),
    pools,
    state,
    error: null,
    collectedAt,
    checkouts: block.checkouts,
    reservations: block.reservations,
    queue: withFirstSeen(block.queue, previous?.queue ?? [], collectedAt),
    missed: 0,
    missedPools: keepsLent ? 1 : 0,
  };
}

/** A feature of which no number is known. */
export function failedFeature(daemon: string, name: string, error: string | null): FeaturePicture {
  return {
    daemon,
    name,
    total: null,
    used: null,
    available: null,
    reserved: null,
    queued: null,
    unlimited: false,
    utilization: null,
    shared: false,
    expiry: UNKNOWN_EXPIRY,
    pools: [],
    state: "failed",
    error,
    collectedAt: null,
    checkouts: [],
    reservations: [],
    queue: [],
    missed: 0,
    missedPools: 0,
  };
}

/** The last good numbers, no longer fresh. A feature without good numbers stays `failed`. */
export function staleFeature(feature: FeaturePicture, missed = feature.missed): FeaturePicture {
  if (feature.state === "failed") return missed === feature.missed ? feature : { ...feature, missed };
  if (feature.state === "stale" && feature.missed === missed) return feature;
  return { ...feature, state: "stale", missed };
}

/** Percent of a total with two decimals; null when there is nothing to be a part of. */
export function percent(part: number, total: number): number | null {
  return total > 0 ? Math.round((part / total) * 10_000) / 100 : null;
}

/**
 * Ids of pools: the manager's number where it has one, else a digest of (version, expiry, vendor string, kind)
 * with the ordinal among equal ones, which is stable from poll to poll and unique in the feature.
 */
export function withIds(pools: readonly PoolReading[]): PoolPicture[] {
  const seen = new Map<string, number>();
  return pools.map((pool) => {
    const own = pool.number;
    const key = own ?? digest([pool.version, pool.expiry.expiresOn, pool.vendorString, pool.kind].join("\0"));
    const ordinal = (seen.get(key) ?? 0) + 1;
    seen.set(key, ordinal);
    const id = own !== null && ordinal === 1 ? own : `${key}-${ordinal}`;
    return { ...pool, id };
  });
}

/** FNV-1a, 32 bit: short, stable over versions of the runtime, and collisions only matter inside one feature. */
function digest(text: string): string {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193) >>> 0;
  }
  return hash.toString(16).padStart(8, "0");
}

function sumOf(rows: readonly { readonly count: number }[]): number {
  let sum = 0;
  for (const row of rows) sum += row.count;
  return sum;
}
