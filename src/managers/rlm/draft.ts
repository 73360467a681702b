import type {
  CheckoutReading,
  Consistency,
  DaemonReading,
  DaemonTotals,
  FeatureReading,
  PoolReading,
  ToolError,
} from "../../domain/reading.ts";
import type { PoolKind } from "../../domain/words.ts";
import type { PoolCounts, PoolHeader } from "./pool-lines.ts";
import type { KnownProducts, Owner, UsageLine } from "./usage-line.ts";

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

/** The special product with which an ISV allows roaming at all (RLM License Administration, "Special License Names"). */
const ROAM_PRODUCT = "rlm_roam";

/** One ISV server while its parts are gathered: they stand in up to four places of the output. */
export interface DaemonDraft extends KnownProducts {
  readonly name: string;
  /** Listed as running, but nothing of it was seen yet. */
  awaited: boolean;
  poolSection: boolean;
  usageSection: boolean;
  status: DaemonReading["status"];
  version: string | null;
  error: ToolError | null;
  totals: Mutable<DaemonTotals> | null;
  /** From the headings of its sections; null before the first. */
  port: number | null;
  product(name: string): ProductDraft;
  products(): Iterable<ProductDraft>;
  /** Remembers a header of the pool section for the usage section. */
  know(header: PoolHeader): void;
  read(): DaemonReading;
}

export interface ProductDraft {
  readonly name: string;
  /** The text ended within its lines, or one of them was not understood. */
  cut: boolean;
  addPool(header: PoolHeader, counts: PoolCounts | null): void;
  addUsage(usage: UsageLine, startedAt: number | null): void;
  read(): FeatureReading;
}

export function createDaemonDraft(name: string): DaemonDraft {
  const products = new Map<string, ProductDraft>();
  const owners = new Map<string, Owner>();
  const lengths = new Set<number>();
  const draft: DaemonDraft = {
    name,
    awaited: false,
    poolSection: false,
    usageSection: false,
    status: "up",
    version: null,
    error: null,
    totals: null,
    port: null,
    product(of) {
      const known = products.get(of);
      if (known !== undefined) return known;
      const fresh = createProductDraft(name, of);
      products.set(of, fresh);
      return fresh;
    },
    products: () => products.values(),
    know({ product, version }) {
      const header = version === null ? product : `${product} ${version}`;
      owners.set(header, { product, version });
      lengths.add(header.length);
    },
    owner: (header) => owners.get(header),
    hasLength: (length) => lengths.has(length),
    read: () => ({
      name,
      status: draft.status,
      version: draft.version,
      error: draft.error,
      totals: draft.totals,
      ...(draft.port !== null && { port: draft.port }),
    }),
  };
  return draft;
}

function createProductDraft(daemon: string, name: string): ProductDraft {
  const pools: PoolReading[] = [];
  const checkouts: Mutable<CheckoutReading>[] = [];
  /** Version of the license each checkout was served from, beside `checkouts`. */
  const served: (string | null)[] = [];
  let reserved: number | null = null;
  let seats = 0;
  let fromReservations = 0;

  const draft: ProductDraft = {
    name,
    cut: false,
    addPool(header, counts) {
      pools.push({
        number: header.number,
        version: header.version,
        vendorString: null,
        kind: kindOf(name, counts),
        total: counts?.total ?? null,
        used: counts?.used ?? null,
        unlimited: counts?.kind === "uncounted",
        expiry: counts?.expiry ?? { expiresOn: null, expiresAt: null, permanent: false },
      });
      if (counts !== null && counts.reserved !== null) reserved = (reserved ?? 0) + counts.reserved;
    },
    addUsage(usage, startedAt) {
      seats += usage.seats;
      fromReservations += usage.reserved;
      served.push(usage.version);
      checkouts.push({
        user: usage.user,
        host: usage.host,
        display: null,
        qualifier: usage.isvData,
        version: usage.requested ?? usage.version,
        count: usage.seats > 0 ? usage.seats : usage.reserved,
        handle: usage.handle,
        pid: null,
        startedAt,
        lingerSeconds: null,
        borrowed: usage.roaming,
        pool: null,
      });
    },
    read() {
      const poolOf = poolsByVersion(pools);
      for (const [index, checkout] of checkouts.entries()) {
        checkout.pool = poolOf.get(served[index] ?? null) ?? null;
      }
      const { total, used, unlimited } = sumPools(pools);
      return {
        daemon,
        name,
        total,
        used,
        unlimited,
        reserved,
        error: null,
        pools,
        checkouts,
        reservations: [],
        queue: [],
        consistency: unlimited ? "ok" : compare(used, seats, fromReservations),
        // Seats without a pool: its rows were not printed, or not understood.
        cut: draft.cut || pools.length === 0,
      };
    },
  };
  return draft;
}

function kindOf(product: string, counts: PoolCounts | null): PoolKind {
  if (product === ROAM_PRODUCT) return "roam";
  if (counts?.kind === "uncounted") return "uncounted";
  if (counts?.kind === "token") return "token";
  // rlmstat does not say whether counted seats float or belong to a node.
  return "unknown";
}

/** Usage lines name no pool: only a version that one pool alone has tells which it is. */
function poolsByVersion(pools: readonly PoolReading[]): Map<string | null, number | null> {
  const found = new Map<string | null, number | null>();
  for (const [index, { version }] of pools.entries()) found.set(version, found.has(version) ? null : index);
  return found;
}

/**
 * A product's seats: the sum over its pools. A token-based pool has no seats of its own (it draws on another
 * product's), so it counts only when there is nothing else, and then as unknown.
 */
function sumPools(pools: readonly PoolReading[]) {
  const own = pools.filter(({ kind }) => kind !== "token");
  const unlimited = own.some((pool) => pool.unlimited);
  return {
    unlimited,
    total: unlimited ? null : sum(own.map(({ total }) => total)),
    used: sum(own.map(({ used }) => used)),
  };
}

/** Null when there is nothing to add or a part is unknown. */
function sum(values: readonly (number | null)[]): number | null {
  let result: number | null = null;
  for (const value of values) {
    if (value === null) return null;
    result = (result ?? 0) + value;
  }
  return result;
}

/**
 * RLM's own check: `inuse` of a product's pools = Σ A over the usage lines `A/B` of the product. Whether A holds
 * the B seats that came from a reservation is not documented, so with B any sum from Σ A to Σ A + Σ B is right.
 * Lines above `inuse` are shared licenses: several processes of one user on one seat, each printed with 1.
 */
function compare(used: number | null, seats: number, fromReservations: number): Consistency {
  if (used === null) return "ok";
  if (used > seats + fromReservations) return "short";
  return used < seats ? "shared" : "ok";
}
