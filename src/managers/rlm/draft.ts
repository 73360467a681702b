import {
  type CheckoutReading,
  type Consistency,
  type DaemonReading,
  type DaemonTotals,
  type FeatureReading,
  MAX_UNPARSED_KEPT,
  type MemberReading,
  type PoolReading,
  type Reading,
  type ToolError,
  type UnparsedLine,
} from "../../domain/reading.ts";
import type { PoolKind } from "../../domain/words.ts";
import type { PoolCounts, PoolHeader } from "./pool-lines.ts";
import { type ErrorBlock, toToolError } from "./sections.ts";
import type { KnownProducts, Owner, UsageLine } from "./usage-line.ts";

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };
export type MemberDraft = Mutable<MemberReading>;
export type ProductDraft = ReturnType<typeof createProductDraft>;

/** The special product with which an ISV allows roaming at all (RLM License Administration, "Special License Names"). */
const ROAM_PRODUCT = "rlm_roam";

/** One ISV server while its parts are gathered: they stand in up to four places of the output. */
export interface DaemonDraft extends KnownProducts {
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
  readonly products: Map<string, ProductDraft>;
  product(name: string): ProductDraft;
  /** Remembers a header of the pool section for the usage section. */
  know(header: PoolHeader): void;
}

function createDaemonDraft(daemon: string): DaemonDraft {
  const products = new Map<string, ProductDraft>();
  const owners = new Map<string, Owner>();
  const lengths = new Set<number>();
  return {
    awaited: false,
    poolSection: false,
    usageSection: false,
    status: "up",
    version: null,
    error: null,
    totals: null,
    port: null,
    products,
    product: (name) => getOrAdd(products, name, () => createProductDraft(daemon, name)),
    know({ product, version }) {
      const header = version === null ? product : `${product} ${version}`;
      owners.set(header, { product, version });
      lengths.add(header.length);
    },
    owner: (header) => owners.get(header),
    hasLength: (length) => lengths.has(length),
  };
}

function createProductDraft(daemon: string, name: string) {
  const pools: PoolReading[] = [];
  const checkouts: Mutable<CheckoutReading>[] = [];
  /** Version of the license each checkout was served from, beside `checkouts`. */
  const served: (string | null)[] = [];
  let reserved: number | null = null;
  let seats = 0;
  let fromReservations = 0;

  const draft = {
    /** The text ended within its lines, or one of them was not understood. */
    cut: false,
    addPool(header: PoolHeader, counts: PoolCounts | null): void {
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
    addUsage(usage: UsageLine, startedAt: number | null): void {
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
    read(): FeatureReading {
      const poolOf = poolsByVersion(pools);
      for (const [index, checkout] of checkouts.entries()) {
        checkout.pool = poolOf.get(served[index] ?? null) ?? null;
      }
      // A token-based pool draws on another product's seats: it counts only when there is nothing else, as unknown.
      const own = pools.filter(({ kind }) => kind !== "token");
      const unlimited = own.some((pool) => pool.unlimited);
      const used = sum(own.map((pool) => pool.used));
      return {
        daemon,
        name,
        total: unlimited ? null : sum(own.map(({ total }) => total)),
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

function getOrAdd<T>(known: Map<string, T>, key: string, make: () => T): T {
  const found = known.get(key) ?? make();
  known.set(key, found);
  return found;
}

function kindOf(product: string, counts: PoolCounts | null): PoolKind {
  if (product === ROAM_PRODUCT) return "roam";
  // rlmstat does not say whether counted seats float or belong to a node.
  return counts === null || counts.kind === "counted" ? "unknown" : counts.kind;
}

/** Usage lines name no pool: only a version that one pool alone has tells which it is. */
function poolsByVersion(pools: readonly PoolReading[]): Map<string | null, number | null> {
  const found = new Map<string | null, number | null>();
  for (const [index, { version }] of pools.entries()) found.set(version, found.has(version) ? null : index);
  return found;
}

/** Null when there is nothing to add or a part is unknown. */
function sum(values: readonly (number | null)[]): number | null {
  if (values.length === 0 || values.includes(null)) return null;
  return values.reduce<number>((total, value) => total + (value ?? 0), 0);
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

/** The reading while the parser fills it: who was named so far, what failed, what was not understood. */
export function createReport() {
  const members = new Map<string, MemberDraft>();
  const daemons = new Map<string, DaemonDraft>();
  const wholeErrors: ToolError[] = [];
  const unparsed: UnparsedLine[] = [];
  let unparsedLines = 0;

  const report = {
    toolVersion: null as string | null,
    reportTime: null as number | null,
    recognised: false,
    cut: false,
    /** A line that stands under no product was not understood. */
    stray: false,
    /** The rlm itself at this address, made when it is new. Hosts are the same in any case. */
    member(host: string, port: number | null, status: "up" | "down"): MemberDraft {
      const fresh = () => ({ host, port, status, master: false, version: null, error: null });
      return getOrAdd(members, `${port}@${host.toLowerCase()}`, fresh);
    },
    /** The ISV server of this name, made when it is new. */
    daemon: (name: string) => getOrAdd(daemons, name, () => createDaemonDraft(name)),
    /** Neither an ISV server nor an error was named. */
    isEmpty: () =>
      daemons.size + wholeErrors.length === 0 && [...members.values()].every(({ error }) => error === null),
    addError(block: ErrorBlock): void {
      const error = toToolError(block);
      if (block.server !== null && block.server !== "rlm")
        Object.assign(report.daemon(block.server), { status: "down", error, awaited: false });
      else if (block.server === "rlm" && block.host !== null)
        report.member(block.host, block.port, "down").error = error;
      else wholeErrors.push(error);
    },
    /** A line that no rule knew. */
    reject(text: string, line: number): void {
      unparsedLines++;
      if (unparsed.length < MAX_UNPARSED_KEPT) unparsed.push({ line, text: text.slice(0, 500) });
    },
    read(): Reading {
      const features: FeatureReading[] = [];
      let { cut } = report;
      for (const { products, awaited, poolSection, usageSection } of daemons.values()) {
        const own = [...products.values()].map((product) => product.read());
        const inUse = own.some(({ unlimited, used }) => !unlimited && (used ?? 0) > 0);
        // Without its pool section, the seats of products whose pools were not printed.
        if (awaited || (inUse && !usageSection) || (usageSection && !poolSection)) cut = true;
        for (const feature of own) features.push(feature);
      }
      const hosts = [...members.values()];
      // Of failover servers one is enough: only when none answered has the whole query failed.
      const answered = daemons.size > 0 || hosts.some(({ status }) => status === "up");
      const failed = answered ? [] : hosts.flatMap(({ error }) => (error === null ? [] : [error]));
      return {
        manager: "rlm",
        reportTime: report.reportTime,
        toolVersion: report.toolVersion,
        members: hosts,
        daemons: [...daemons].map(([name, { status, version, error, totals, port }]) => {
          const daemon = { name, status, version, error, totals };
          return port === null ? daemon : { ...daemon, port };
        }),
        features,
        errors: [...wholeErrors, ...failed],
        unparsedLines,
        unparsed,
        cut,
        ...(report.stray && { stray: true as const }),
        recognised: report.recognised,
      };
    },
  };
  return report;
}
