import { featureKey } from "../../domain/history.ts";
import { packageGroup } from "../../domain/polls/seat-groups.ts";
import type {
  CheckoutReading,
  Consistency,
  Expiry,
  FeatureReading,
  PoolReading,
} from "../../domain/reading.ts";
import { MINUTE_MS } from "../../domain/time/clock.ts";
import type { PoolKind } from "../../domain/words.ts";
import { trimBlanks } from "../blanks-and-digits.ts";
import { endsInErrorCode, parseToolError } from "./status-lines.ts";

export type FeatureHeader = Pick<FeatureReading, "name" | "total" | "used" | "unlimited" | "error">;

const PREFIX = "Users of ";
const CANNOT = ": Cannot get users of ";
const COUNTS =
  /^.{9}(.+):[ \t]*\(Total of (\d{1,15}) licen[sc]es? issued;\s+Total of (\d{1,15}) licen[sc]es? in use\)[ \t]*$/is;
const ODD = /^Users of (.+?):(?:[ \t](.*))?$/s;
const ISSUED = /\bTotal of (\d{1,15}) licen[sc]es? issued\b/i;
const IN_USE = /\bTotal of (\d{1,15}) licen[sc]es? in use\b/i;
const UNCOUNTED = /^\(Uncounted\b.*\)[ \t]*$/is;
const ERROR = /^\((Error: .*)\)[ \t]*$/is;

export function startsHeader(trimmed: string): boolean {
  return trimmed.startsWith(PREFIX);
}

/**
 * Parses `Users of NAME:  (Total of N license[s] issued;  Total of M license[s] in use)`, `(Uncounted, node-locked)`,
 * `(Error: N licenses, unsupported by licensed server)` or `Users of NAME: Cannot get users of NAME: … (-5,222)`.
 * Names may contain colons and brackets; a name ends at the last colon before the tool's own text.
 */
export function parseHeader(trimmed: string): FeatureHeader | null {
  if (!startsHeader(trimmed)) return null;
  const [, name, total, used] = COUNTS.exec(trimmed) ?? [];
  if (name !== undefined) return counted(name, Number(total), Number(used));
  const cannot = trimmed.indexOf(CANNOT, PREFIX.length);
  if (cannot > PREFIX.length) return failed(trimmed.slice(PREFIX.length, cannot), trimmed.slice(cannot + 2));
  const uncounted = bracket(trimmed, "(Uncounted", UNCOUNTED);
  if (uncounted !== null) return { ...counted(uncounted.name, null, null), unlimited: true };
  const error = bracket(trimmed, "(Error: ", ERROR);
  if (error !== null) return failed(error.name, error.found[1] ?? "");
  const colon = endsInErrorCode(trimmed) ? trimmed.indexOf(": ", PREFIX.length) : -1;
  if (colon <= PREFIX.length) return null;
  return failed(trimmed.slice(PREFIX.length, colon), trimBlanks(trimmed.slice(colon + 1)));
}

/** Parses a header with unknown text; counts that are not found are null. Returns null without a name. */
export function parseOddHeader(trimmed: string): FeatureHeader | null {
  const [, name, rest = ""] = ODD.exec(trimmed) ?? [];
  if (name === undefined) return null;
  const count = (pattern: RegExp) => {
    const found = pattern.exec(rest);
    return found === null ? null : Number(found[1]);
  };
  return counted(name, count(ISSUED), trimBlanks(rest) === "None" ? 0 : count(IN_USE));
}

/** Matches `NAME:  (…)` where the bracket begins at the last `mark` and matches the pattern. */
function bracket(text: string, mark: string, pattern: RegExp) {
  const open = text.lastIndexOf(mark);
  const found = open <= PREFIX.length ? null : pattern.exec(text.slice(open));
  if (found === null) return null;
  const before = text.slice(PREFIX.length, open);
  const colon = before.lastIndexOf(":");
  const isName = colon > 0 && trimBlanks(before.slice(colon + 1)) === "";
  return isName ? { name: before.slice(0, colon), found } : null;
}

function counted(name: string, total: number | null, used: number | null): FeatureHeader {
  return { name, total, used, unlimited: false, error: null };
}

function failed(name: string, message: string): FeatureHeader {
  return { ...counted(name, null, null), error: parseToolError(message) };
}

export type Block = ReturnType<typeof openBlock>;

export function openBlock(header: FeatureHeader, daemon: string, part: number) {
  return {
    ...header,
    daemon,
    part,
    vendor: null as string | null,
    server: null as string | null,
    pools: [] as PoolDraft[],
    checkouts: [] as FeatureReading["checkouts"][number][],
    reservations: [] as FeatureReading["reservations"][number][],
    queue: [] as FeatureReading["queue"][number][],
    /** Number of seats in the lines above the first pool line. */
    loose: 0,
    held: 0,
    /** True directly after a pool line, whose description may follow. */
    describing: false,
    doubtful: false,
  };
}

export type PoolDraft = ReturnType<typeof openPool>;

/** `tableOnly`: the pool appears only in the table of `-i`. */
export function openPool(version: string | null, expiry: Expiry, tableOnly = false) {
  return {
    version,
    vendorString: null as string | null,
    kind: "unknown" as PoolReading["kind"],
    total: null as number | null,
    unlimited: false,
    expiry,
    held: 0,
    tableOnly,
    /** True if checkouts without a pool, or in another pool of the same version, may belong to this pool. */
    doubtful: false,
  };
}

export function poolOf(block: Block): number | null {
  return block.pools.length === 0 ? null : block.pools.length - 1;
}

/** Adds seats of a checkout or a reservation; the tool's `in use` includes both. */
export function hold(block: Block, seats: number): void {
  const pool = block.pools.at(-1);
  block.held += seats;
  if (pool === undefined) block.loose += seats;
  else pool.held += seats;
}

export function setKind(pool: PoolDraft, kind: PoolKind): void {
  pool.kind = kind;
  pool.unlimited = kind === "uncounted";
}

/**
 * Compares `in use` with the seats of checkouts and reservations. If the sum of the seats is larger,
 * checkouts share seats (duplicate grouping). If the sum also exceeds the total, a line is wrong.
 */
export function consistencyOf({ held, used, total }: Block): Consistency {
  if (used === null || held === used) return "ok";
  if (held < used) return "short";
  return total !== null && held > total ? "short" : "shared";
}

/** A pool's `used` is known only if the block's lines add up. */
export function closeBlock(block: Block, isCut: boolean): FeatureReading {
  const { daemon, name, total, used, unlimited, error, checkouts, reservations, queue } = block;
  const consistency = consistencyOf(block);
  const pools = block.pools.map((pool): PoolReading => {
    const { version, vendorString, kind, expiry } = pool;
    // A single pool has the header's total unless the license file states another.
    const ownTotal = pool.total ?? (block.pools.length === 1 && !pool.unlimited ? total : null);
    const counts = { total: ownTotal, used: usedOf(block, pool, consistency), unlimited: pool.unlimited };
    return { number: null, version, vendorString, kind, ...counts, expiry };
  });
  const cut = isCut || block.doubtful;
  const counts = { daemon, name, total, used, unlimited, error };
  return { ...counts, pools, checkouts, reservations, queue, consistency, cut };
}

function usedOf(block: Block, pool: PoolDraft, consistency: Consistency): number | null {
  // Without the printed number of seats in use, missing lines cannot be detected.
  if (consistency !== "ok" || block.used === null) return null;
  if (!pool.tableOnly) return pool.held;
  return block.held === 0 || (block.loose === 0 && !pool.doubtful) ? 0 : null;
}

const keyOf = ({ daemon, name }: Pick<FeatureReading, "daemon" | "name">) => featureKey(daemon, name);

/**
 * Groups the features of a package. A checkout of a component takes one seat but has two lines: one under the
 * package, with the component's name after the display, and one under the component. Their starts may differ
 * by a minute. A component has at least as many seats as its package.
 */
export function withPackages(features: readonly FeatureReading[]): readonly FeatureReading[] {
  const totals = new Map<string, number>();
  for (const feature of features)
    totals.set(keyOf(feature), (totals.get(keyOf(feature)) ?? 0) + (feature.total ?? 0));
  const naming = features.flatMap((feature) =>
    feature.checkouts.flatMap((checkout) => {
      const component = keyOf({ daemon: feature.daemon, name: checkout.qualifier ?? "" });
      const isOther = component !== keyOf(feature) && checkout.startedAt !== null;
      const isEnough = (totals.get(component) ?? -1) >= (totals.get(keyOf(feature)) ?? 0);
      return isOther && isEnough ? [{ feature, checkout, component }] : [];
    }),
  );
  if (naming.length === 0) return features;

  const named = new Set(naming.map(({ component }) => component));
  const lines = new Set(
    features
      .filter((feature) => named.has(keyOf(feature)))
      .flatMap((feature) => feature.checkouts.map((checkout) => lineOf(keyOf(feature), checkout, 0))),
  );
  const groups = new Map<string, string>();
  for (const { feature, checkout, component } of naming) {
    if (![0, 1, -1].some((minutes) => lines.has(lineOf(component, checkout, minutes)))) continue;
    const group = packageGroup(feature.name);
    groups.set(keyOf(feature), group);
    if (!groups.has(component)) groups.set(component, group);
  }
  return features.map((feature) => {
    const seatGroup = groups.get(keyOf(feature));
    return seatGroup === undefined ? feature : { ...feature, seatGroup };
  });
}

function lineOf(feature: string, { user, host, pid, startedAt }: CheckoutReading, minutes: number): string {
  const start = startedAt === null ? null : startedAt + minutes * MINUTE_MS;
  return JSON.stringify([feature, user, host?.toLowerCase(), pid, start]);
}
