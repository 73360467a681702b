import type {
  CheckoutReading,
  Consistency,
  FeatureReading,
  PoolReading,
  QueueReading,
  ReservationReading,
} from "../../domain/reading.ts";
import type { PoolKind } from "../../domain/words.ts";
import type { FeatureHeader } from "./header-line.ts";

/** A feature's block as its lines come in; the table of `-i` is laid over it at the end of the output. */
export interface Block extends FeatureHeader {
  daemon: string;
  /** Which license server's part of the output it stands in. */
  readonly part: number;
  /** The daemon that the first pool line names; null when there is none. */
  vendor: string | null;
  /** The license server that gave the first seat, `host/port`; null when there is none. */
  server: string | null;
  readonly pools: PoolDraft[];
  readonly checkouts: CheckoutReading[];
  readonly reservations: ReservationReading[];
  readonly queue: QueueReading[];
  /** Seats of checkouts and reservations that stand under no pool line. */
  loose: number;
  /** Seats of all checkouts and reservations. */
  held: number;
  /** The last line was the pool's own: what describes the pool is still to come. */
  describing: boolean;
  /** A line of it was not understood. */
  doubtful: boolean;
}

export type PoolDraft = {
  -readonly [Key in keyof Omit<PoolReading, "used" | "number">]: PoolReading[Key];
} & {
  /** Seats of checkouts and reservations under it. */
  held: number;
  /** Only the table of `-i` names it. */
  readonly tableOnly: boolean;
  /** Whether the checkouts without a pool, or under a pool of the same version, may be its own. */
  doubtful: boolean;
};

export function openBlock(header: FeatureHeader, daemon: string, part: number): Block {
  return {
    ...header,
    daemon,
    part,
    vendor: null,
    server: null,
    pools: [],
    checkouts: [],
    reservations: [],
    queue: [],
    loose: 0,
    held: 0,
    describing: false,
    doubtful: false,
  };
}

export function openPool(block: Block, version: string | null, expiry: PoolReading["expiry"]): void {
  block.pools.push({
    version,
    vendorString: null,
    kind: "unknown",
    total: null,
    unlimited: false,
    expiry,
    held: 0,
    tableOnly: false,
    doubtful: false,
  });
  block.describing = true;
}

/** Index of the pool under which a line stands now. */
export function poolOf(block: Block): number | null {
  return block.pools.length === 0 ? null : block.pools.length - 1;
}

/** Counts the seats of a checkout or a reservation, which the tool's `in use` includes. */
export function hold(block: Block, seats: number): void {
  const pool = block.pools[block.pools.length - 1];
  block.held += seats;
  if (pool === undefined) block.loose += seats;
  else pool.held += seats;
}

export function setKind(pool: PoolDraft, kind: PoolKind): void {
  pool.kind = kind;
  pool.unlimited = kind === "uncounted";
}

/**
 * `in use` = Σ seats of checkouts + Σ seats of reservations, measured over untouched outputs. Fewer: lines are
 * missing. More: checkouts share seats (duplicate grouping). An uncounted feature has nothing to compare with.
 */
export function consistencyOf(block: Block): Consistency {
  if (block.used === null || block.held === block.used) return "ok";
  return block.held < block.used ? "short" : "shared";
}

/** The finished feature. A pool's `used` is known only where the block's lines add up. */
export function closeBlock(block: Block, cut: boolean): FeatureReading {
  const consistency = consistencyOf(block);
  return {
    daemon: block.daemon,
    name: block.name,
    total: block.total,
    used: block.used,
    unlimited: block.unlimited,
    error: block.error,
    pools: block.pools.map((pool) => closePool(block, pool, consistency)),
    checkouts: block.checkouts,
    reservations: block.reservations,
    queue: block.queue,
    consistency,
    cut: cut || block.doubtful,
  };
}

function closePool(block: Block, pool: PoolDraft, consistency: Consistency): PoolReading {
  // The header's total is the only pool's own, unless the license file says better.
  const total = pool.total ?? (block.pools.length === 1 && !pool.unlimited ? block.total : null);
  return {
    number: null,
    version: pool.version,
    vendorString: pool.vendorString,
    kind: pool.kind,
    total,
    used: usedOf(block, pool, consistency),
    unlimited: pool.unlimited,
    expiry: pool.expiry,
  };
}

function usedOf(block: Block, pool: PoolDraft, consistency: Consistency): number | null {
  // Where nothing is counted, nothing shows that no line is missing.
  if (consistency !== "ok" || block.used === null) return null;
  if (!pool.tableOnly) return pool.held;
  return block.held === 0 || (block.loose === 0 && !pool.doubtful) ? 0 : null;
}
