import type {
  CheckoutReading,
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
import { checkoutReading, compareCounts, type Mutable, memberReading } from "../reading-parts.ts";
import { createHeaders, type PoolCounts, type PoolHeader, type UsageLine } from "./license-lines.ts";
import { type ErrorBlock, toToolError } from "./sections.ts";

export type MemberDraft = Mutable<MemberReading>;
export type DaemonDraft = ReturnType<typeof createDaemonDraft>;
export type ProductDraft = ReturnType<typeof createProductDraft>;

/** Name of the product that enables roaming (RLM License Administration, "Special License Names"). */
const ROAM_PRODUCT = "rlm_roam";

/** An ISV server while its sections are read. */
function createDaemonDraft(daemon: string) {
  const products = new Map<string, ProductDraft>();
  return {
    /** True if the ISV server is listed as running, but none of its sections was read yet. */
    awaited: false,
    poolSection: false,
    /** True if the text ended within the pool section. */
    poolsOpen: false,
    usageSection: false,
    sections: new Set<string>(),
    /** True if any product may be incomplete: a section was printed twice, or the text is cut within the pools. */
    inDoubt: false,
    status: "up" as DaemonReading["status"],
    version: null as string | null,
    error: null as ToolError | null,
    totals: null as Mutable<DaemonTotals> | null,
    port: null as number | null,
    headers: createHeaders(),
    products,
    product: (name: string) => products.getOrInsertComputed(name, () => createProductDraft(daemon, name)),
  };
}

function createProductDraft(daemon: string, name: string) {
  const pools: PoolReading[] = [];
  const checkouts: Mutable<CheckoutReading>[] = [];
  /** License version that serves each checkout, parallel to `checkouts`. */
  const served: (string | null)[] = [];
  let reserved: number | null = null;
  let seats = 0;
  let fromReservations = 0;

  const draft = {
    /** True if the output ended inside this product's lines, or if one of these lines was not understood. */
    cut: false,
    addPool({ number, version }: PoolHeader, counts: PoolCounts | null): void {
      // rlmstat does not show whether counted seats are floating or node-locked.
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
      const { user, host, handle, isvData: qualifier, roaming: borrowed } = usage;
      const version = usage.requested ?? owner.version;
      const count = counts.seats > 0 ? counts.seats : counts.reserved;
      checkouts.push(
        checkoutReading({ user, host, qualifier, version, count, handle, startedAt, borrowed, pool: null }),
      );
    },
    read(): FeatureReading {
      // Usage lines do not name a pool, so the pool is known only if its version is unique.
      const poolOf = new Map<string | null, number | null>();
      for (const [index, { version }] of pools.entries())
        poolOf.set(version, poolOf.has(version) ? null : index);
      for (const [index, checkout] of checkouts.entries())
        checkout.pool = poolOf.get(served[index] ?? null) ?? null;
      // A token-based pool uses another product's seats and does not count.
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
        // It is not documented whether the A seats of a usage line `A/B` include the B seats from a
        // reservation, so accept both.
        consistency: unlimited ? "ok" : compareCounts(used, seats, fromReservations),
        // A product without pools is incomplete, because the lines of its pools are missing or were not
        // understood.
        cut: draft.cut || pools.length === 0,
      };
    },
  };
  return draft;
}

/** Null if the list is empty or contains null. */
function sum(values: readonly (number | null)[]): number | null {
  if (values.length === 0 || values.includes(null)) return null;
  return values.reduce<number>((total, value) => total + (value ?? 0), 0);
}

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
    stray: false,
    /** Host names ignore case. */
    member(host: string, port: number | null, status: "up" | "down"): MemberDraft {
      return members.getOrInsertComputed(`${port}@${host.toLowerCase()}`, () =>
        memberReading(host, port, status),
      );
    },
    daemon: (name: string) => daemons.getOrInsertComputed(name, () => createDaemonDraft(name)),
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
    reject: unparsed.add,
    read(): Reading {
      const features: FeatureReading[] = [];
      let { cut } = report;
      for (const daemon of daemons.values()) {
        const { products, awaited, poolSection, usageSection } = daemon;
        const own = [...products.values()].map((product) => product.read());
        const inUse = own.some(({ unlimited, used }) => !unlimited && (used ?? 0) > 0);
        const lacksUsage = inUse && !usageSection;
        // Sections are missing. Without a pool section, products without seats in use are not listed.
        if (awaited || lacksUsage || (usageSection && !poolSection)) cut = true;
        // Pools of several products are interleaved, so after a cut any product may lack pools.
        const inDoubt = daemon.inDoubt || (daemon.poolsOpen && lacksUsage);
        for (const feature of own) features.push(inDoubt ? { ...feature, cut: true } : feature);
      }
      const hosts = [...members.values()];
      // Errors of failover servers are reported as errors of the query only if no server answered.
      const answered = daemons.size > 0 || hosts.some(({ status }) => status === "up");
      const failed = answered ? [] : hosts.flatMap(({ error }) => error ?? []);
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
