import { earlierExpiry } from "../expiry.ts";
import { featureKey } from "../history.ts";
import type { FeaturePicture, PoolPicture, QueuePicture } from "../picture.ts";
import { type FeatureReading, type PoolReading, type QueueReading, UNKNOWN_EXPIRY } from "../reading.ts";
import type { DataState } from "../words.ts";
import { sumOfKnown } from "./seat-groups.ts";

/**
 * Merges blocks with the same (daemon, name), in order of first appearance. Several license lines of one
 * feature, or several license servers behind one address, become pools and are added up.
 */
export function mergeBlocks(blocks: readonly FeatureReading[]): FeatureReading[] {
  const groups = Map.groupBy(blocks, ({ daemon, name }) => featureKey(daemon, name)).values();
  return [...groups].flatMap((same) => (same.length === 1 ? same : addUp(same)));
}

function addUp(blocks: readonly FeatureReading[]): FeatureReading | [] {
  const good = blocks.filter((block) => block.error === null);
  const [first] = good.length > 0 ? good : blocks;
  if (first === undefined) return [];
  // An error block next to a readable one means that some seats are unknown, so the numbers are partial.
  if (good.length <= 1) return { ...first, consistency: good.length === 1 ? "short" : "ok" };

  const pools: PoolReading[] = [];
  const rows = good.map((block) => {
    const shift = pools.length;
    const implied = block.pools.length === 0;
    pools.push(...(implied ? [poolOf(block)] : block.pools));
    const move = <T extends { readonly pool: number | null }>(row: T): T => {
      return { ...row, pool: implied ? shift : row.pool === null ? null : row.pool + shift };
    };
    return {
      checkouts: block.checkouts.map(move),
      reservations: block.reservations.map(move),
      queue: block.queue.map(move),
    };
  });
  const assigned = good.flatMap((block) => (block.assigned === undefined ? [] : [block.assigned]));
  const denials = sumOfKnown(good.map((block) => block.totals?.denials ?? null));
  const reserved = sumOfKnown(good.map((block) => block.reserved ?? null));
  const isShort = good.length < blocks.length || good.some(({ consistency }) => consistency === "short");
  const isShared = good.some(({ consistency }) => consistency === "shared");
  return {
    daemon: first.daemon,
    name: first.name,
    total: sumOfKnown(good.filter((block) => !block.unlimited).map((block) => block.total)),
    used: sumOfKnown(good.map((block) => block.used)),
    unlimited: good.some((block) => block.unlimited),
    error: null,
    pools,
    checkouts: rows.flatMap(({ checkouts }) => checkouts),
    reservations: rows.flatMap(({ reservations }) => reservations),
    queue: rows.flatMap(({ queue }) => queue),
    consistency: isShort ? "short" : isShared ? "shared" : "ok",
    cut: good.some((block) => block.cut),
    ...(reserved !== null && { reserved }),
    ...saidBesides({ ...first, ...(assigned.length > 0 && { assigned: assigned.flat() }) }),
    ...(denials !== null && { totals: { denials } }),
  };
}

/** Returns the fields that only some managers report. */
function saidBesides({ unit, seatGroup, assigned, totals }: FeatureReading) {
  return {
    ...(unit !== undefined && { unit }),
    ...(seatGroup !== undefined && { seatGroup }),
    ...(assigned !== undefined && { assigned }),
    ...(totals !== undefined && { totals }),
  };
}

/** Treats a block without pool lines as one pool. */
function poolOf({ unlimited, total, used }: FeatureReading): PoolReading {
  const kind = unlimited ? "uncounted" : "unknown";
  const unnamed = { number: null, version: null, vendorString: null };
  return { ...unnamed, kind, total, used, unlimited, expiry: UNKNOWN_EXPIRY };
}

/** Error of a feature that is in the license file but not in its server's answer. */
export const NOT_SERVED = "listed in the license file, not served";

/**
 * Decides the state of a feature's numbers:
 *
 * | result of the last poll for the feature | state | numbers |
 * | --- | --- | --- |
 * | a block whose lines add up (or to which the check does not apply) | `ok` | as read |
 * | a block with more lines than seats in use | `ok`, `shared` | as read |
 * | a block with too few lines, more lines than its total, an unrecognized line, or cut at the end | `partial` | as read |
 * | a row of the license file, while its server answers without the feature | `partial` | the total |
 * | an error of the tool for the feature | `failed` | null |
 * | an error while its daemon is down, or no output at all (see `apply-poll.ts`) | `stale` | the last good ones |
 * | the same, but never read before | `failed` | null |
 */
function stateOfBlock(block: Pick<FeatureReading, "error" | "consistency" | "cut">): DataState {
  if (block.error !== null) return "failed";
  return block.cut || block.consistency === "short" ? "partial" : "ok";
}

/**
 * Makes the picture of a feature from this poll's block. `previous` supplies pools if they are missing for
 * the first time, and the times at which queue entries were first seen.
 */
export function readFeature(
  block: FeatureReading,
  collectedAt: number,
  previous: FeaturePicture | null,
): FeaturePicture {
  const { daemon, name, unlimited, total, used, reservations, queue } = block;
  const state = stateOfBlock(block);
  const besides = saidBesides(block);
  if (state === "failed") return { ...failedFeature(daemon, name, block.error?.message ?? null), ...besides };

  // Tools print pool lines and the expiry table separately from the counts. If they are missing once, the
  // output may be cut, so keep the previous pools.
  const keepsLent = block.pools.length === 0 && previous?.missedPools === 0 && previous.pools.length > 0;
  const pools = keepsLent ? previous.pools : withIds(block.pools);
  const counted = total === null || unlimited || used === null ? null : { total, used };
  return {
    daemon,
    name,
    total: unlimited ? null : total,
    used,
    available: counted && counted.total - counted.used,
    reserved: block.reserved ?? sumOf(reservations),
    queued: sumOf(queue),
    unlimited,
    utilization: counted && percent(counted.used, counted.total),
    shared: block.consistency === "shared",
    expiry: pools.map((pool) => pool.expiry).reduce(earlierExpiry, UNKNOWN_EXPIRY),
    pools,
    state,
    error: block.fromFile === true && block.cut ? NOT_SERVED : null,
    collectedAt,
    checkouts: block.checkouts,
    reservations,
    queue: withFirstSeen(queue, previous?.queue ?? [], collectedAt),
    missed: 0,
    missedPools: keepsLent ? 1 : 0,
    ...besides,
  };
}

const NOTHING_KNOWN = {
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
  collectedAt: null,
  checkouts: [],
  reservations: [],
  queue: [],
  missed: 0,
  missedPools: 0,
} satisfies Partial<FeaturePicture>;

export function failedFeature(daemon: string, name: string, error: string | null): FeaturePicture {
  return { daemon, name, ...NOTHING_KNOWN, state: "failed", error };
}

/** Marks a feature's last good numbers stale. A feature without good numbers stays `failed`. */
export function staleFeature(feature: FeaturePicture, missed = feature.missed): FeaturePicture {
  if (feature.state === "failed") return missed === feature.missed ? feature : { ...feature, missed };
  if (feature.state === "stale" && feature.missed === missed) return feature;
  return { ...feature, state: "stale", missed };
}

/** Returns a percentage with two decimals; null if the total is 0. */
export function percent(part: number, total: number): number | null {
  return total > 0 ? Math.round((part / total) * 10_000) / 100 : null;
}

/**
 * Adds ids to pools. The id is the manager's number, or else a digest of (version, expiry, vendor string,
 * kind); equal ids get an ordinal. Ids are stable across polls and unique within the feature.
 */
function withIds(pools: readonly PoolReading[]): PoolPicture[] {
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

/** FNV-1a, 32 bit: stable across runtime versions. Collisions matter only within one feature. */
function digest(text: string): string {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193) >>> 0;
  }
  return hash.toString(16).padStart(8, "0");
}

function sumOf(rows: readonly { readonly count: number }[]): number {
  return rows.reduce((sum, { count }) => sum + count, 0);
}

/**
 * Adds the time (epoch ms) at which each queue entry was first seen. Entries are the same if all but their
 * counts are equal; among equal entries, the first has waited longest.
 */
function withFirstSeen(
  now: readonly QueueReading[],
  before: readonly QueuePicture[],
  readAt: number,
): readonly QueuePicture[] {
  const keyOf = ({ user, host, display, version, handle }: QueueReading) =>
    JSON.stringify([user, host?.toLowerCase(), display, version, handle]);
  const known = Map.groupBy(before, keyOf);
  return now.map((entry) => ({
    ...entry,
    firstSeenAt: known.get(keyOf(entry))?.shift()?.firstSeenAt ?? readAt,
  }));
}
