import { type Consistency, type FeatureReading, type PoolReading, UNKNOWN_EXPIRY } from "../reading.ts";

/** Key of a feature's identity inside one server. Names may hold anything but NUL, which no tool prints. */
export function featureKey(daemon: string, name: string): string {
  return `${daemon}\0${name}`;
}

/**
 * One block per identity (daemon, name), in the order of first appearance. Blocks of one identity (several license
 * lines of one feature, several license servers behind one address) become pools and add up: parsers leave out what a
 * tool printed twice.
 */
export function mergeBlocks(blocks: readonly FeatureReading[]): FeatureReading[] {
  const byKey = new Map<string, FeatureReading[]>();
  for (const block of blocks) {
    const key = featureKey(block.daemon, block.name);
    const same = byKey.get(key);
    if (same === undefined) byKey.set(key, [block]);
    else same.push(block);
  }
  const merged: FeatureReading[] = [];
  for (const same of byKey.values()) {
    const [first] = same;
    if (first === undefined) continue;
    merged.push(same.length === 1 ? first : addUp(same));
  }
  return merged;
}

function addUp(blocks: readonly FeatureReading[]): FeatureReading {
  const good = blocks.filter((block) => block.error === null);
  const [first] = good.length > 0 ? good : blocks;
  if (first === undefined) throw new RangeError("addUp takes at least one block");
  if (good.length <= 1) {
    // Beside a readable block an error block means that a part of the seats is not known.
    return { ...first, consistency: good.length === 1 ? "short" : "ok" };
  }

  const pools: PoolReading[] = [];
  const checkouts = [];
  const reservations = [];
  const queue = [];
  for (const block of good) {
    const shift = pools.length;
    const implied = block.pools.length === 0;
    const move = <T extends { readonly pool: number | null }>(row: T): T => ({
      ...row,
      pool: implied ? shift : row.pool === null ? null : row.pool + shift,
    });
    if (implied) pools.push(poolOf(block));
    else pools.push(...block.pools);
    checkouts.push(...block.checkouts.map(move));
    reservations.push(...block.reservations.map(move));
    queue.push(...block.queue.map(move));
  }
  const reserved = sum(good.map((block) => block.reserved ?? null));
  return {
    daemon: first.daemon,
    name: first.name,
    total: sum(good.filter((block) => !block.unlimited).map((block) => block.total)),
    used: sum(good.map((block) => block.used)),
    unlimited: good.some((block) => block.unlimited),
    error: null,
    pools,
    checkouts,
    reservations,
    queue,
    consistency: good.length < blocks.length ? "short" : worst(good.map((block) => block.consistency)),
    cut: good.some((block) => block.cut),
    ...(reserved !== null && { reserved }),
  };
}

/** A block without pool lines is itself one group of seats. */
function poolOf(block: FeatureReading): PoolReading {
  return {
    number: null,
    version: null,
    vendorString: null,
    kind: block.unlimited ? "uncounted" : "unknown",
    total: block.total,
    used: block.used,
    unlimited: block.unlimited,
    expiry: UNKNOWN_EXPIRY,
  };
}

/** Sum of what is known; null when nothing is. */
function sum(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : known.reduce((a, b) => a + b, 0);
}

function worst(list: readonly Consistency[]): Consistency {
  if (list.includes("short")) return "short";
  return list.includes("shared") ? "shared" : "ok";
}
