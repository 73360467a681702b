import type {
  CheckoutReading,
  Consistency,
  DaemonReading,
  DaemonTotals,
  FeatureReading,
  MemberReading,
  PoolReading,
  Reading,
  ToolError,
} from "../../domain/reading.ts";
import { UNKNOWN_EXPIRY } from "../../domain/reading.ts";
import { createUnparsed } from "../read-output.ts";
import { createHeaders, type PoolCounts, type PoolHeader, type UsageLine } from "./license-lines.ts";
import { type ErrorBlock, toToolError } from "./sections.ts";

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };
export type MemberDraft = Mutable<MemberReading>;
export type DaemonDraft = ReturnType<typeof createDaemonDraft>;
export type ProductDraft = ReturnType<typeof createProductDraft>;

/** The special product with which an ISV allows roaming at all (RLM License Administration, "Special License Names"). */
const ROAM_PRODUCT = "rlm_roam";

/** One ISV server while its parts are gathered: they stand in up to four places of the output. */
function createDaemonDraft(daemon: string) {
  const products = new Map<string, ProductDraft>();
  return {
    /** Listed as running, but nothing of it was seen yet. */
    awaited: false,
    poolSection: false,
    /** The text ended within the pool section. */
    poolsOpen: false,
    usageSection: false,
    /** Headings of its sections so far. */
    sections: new Set<string>(),
    /** A section was printed twice, or the text is cut within its pools: any product may have other counts. */
    inDoubt: false,
    status: "up" as DaemonReading["status"],
    version: null as string | null,
    error: null as ToolError | null,
    totals: null as Mutable<DaemonTotals> | null,
    /** From the headings of its sections; null before the first. */
    port: null as number | null,
    headers: createHeaders(),
    products,
    product: (name: string) => products.getOrInsertComputed(name, () => createProductDraft(daemon, name)),
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
    addPool({ number, version }: PoolHeader, counts: PoolCounts | null): void {
      // rlmstat does not say whether counted seats float or belong to a node.
      const counted = counts === null || counts.kind === "counted";
      pools.push({
        number,
        version,
        vendorString: null,
        kind: name === ROAM_PRODUCT ? "roam" : counted ? "unknown" : counts.kind,
        total: counts?.total ?? null,
        used: counts?.used ?? null,
        unlimited: counts?.kind === "uncounted",
        expiry: counts?.expiry ?? UNKNOWN_EXPIRY,
      });
      if (counts !== null && counts.reserved !== null) reserved = (reserved ?? 0) + counts.reserved;
    },
    addUsage(usage: UsageLine, startedAt: number | null): void {
      const { owner, counts } = usage;
      seats += counts.seats;
      fromReservations += counts.reserved;
      served.push(owner.version);
      checkouts.push({
        user: usage.user,
        host: usage.host,
        display: null,
        qualifier: usage.isvData,
        version: usage.requested ?? owner.version,
        count: counts.seats > 0 ? counts.seats : counts.reserved,
        handle: usage.handle,
        pid: null,
        startedAt,
        lingerSeconds: null,
        borrowed: usage.roaming,
        pool: null,
      });
    },
    read(): FeatureReading {
      // Usage lines name no pool: only a version that one pool alone has shows which it is.
      const poolOf = new Map<string | null, number | null>();
      for (const [index, { version }] of pools.entries())
        poolOf.set(version, poolOf.has(version) ? null : index);
      for (const [index, checkout] of checkouts.entries())
        checkout.pool = poolOf.get(served[index] ?? null) ?? null;
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

/** The reading while the parser fills it: what was named so far, what failed, what was not understood. */
export function createReport() {
  const members = new Map<string, MemberDraft>();
  const daemons = new Map<string, DaemonDraft>();
  const wholeErrors: ToolError[] = [];
  const unparsed = createUnparsed();

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
      return members.getOrInsertComputed(`${port}@${host.toLowerCase()}`, fresh);
    },
    /** The ISV server of this name, made when it is new. */
    daemon: (name: string) => daemons.getOrInsertComputed(name, () => createDaemonDraft(name)),
    /** Neither an ISV server nor an error was named. */
    isEmpty: () =>
      daemons.size + wholeErrors.length === 0 && members.values().every(({ error }) => error === null),
    addError(block: ErrorBlock): void {
      const error = toToolError(block);
      if (block.server !== null && block.server !== "rlm")
        Object.assign(report.daemon(block.server), { status: "down", error, awaited: false });
      else if (block.server === "rlm" && block.host !== null)
        report.member(block.host, block.port, "down").error = error;
      else wholeErrors.push(error);
    },
    /** A line that no rule knew. */
    reject: unparsed.add,
    read(): Reading {
      const features: FeatureReading[] = [];
      let { cut } = report;
      for (const daemon of daemons.values()) {
        const { products, awaited, poolSection, usageSection } = daemon;
        const own = [...products.values()].map((product) => product.read());
        const inUse = own.some(({ unlimited, used }) => !unlimited && (used ?? 0) > 0);
        const lacksUsage = inUse && !usageSection;
        // A usage section alone: products without seats in use are missing.
        if (awaited || lacksUsage || (usageSection && !poolSection)) cut = true;
        // Pools of one product are interleaved with those of others: any product may have more.
        const inDoubt = daemon.inDoubt || (daemon.poolsOpen && lacksUsage);
        for (const feature of own) features.push(inDoubt ? { ...feature, cut: true } : feature);
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
        ...unparsed.read(),
        cut,
        ...(report.stray && { stray: true as const }),
        recognised: report.recognised,
      };
    },
  };
  return report;
}
