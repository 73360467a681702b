import type { Consistency, Expiry, FeatureReading, PoolReading } from "../../domain/reading.ts";
import type { PoolKind } from "../../domain/words.ts";
import { trimBlanks } from "../scan.ts";
import { endsInErrorCode, parseToolError } from "./status-lines.ts";

/** The first line of a feature's block. */
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

/** True for a line that opens a block, even a broken one. */
export function startsHeader(trimmed: string): boolean {
  return trimmed.startsWith(PREFIX);
}

/**
 * `Users of NAME:  (Total of N license[s] issued;  Total of M license[s] in use)`, `(Uncounted, node-locked)`,
 * `(Error: N licenses, unsupported by licensed server)` or `Users of NAME: Cannot get users of NAME: … (-5,222)`.
 * The name ends at the last colon before what the tool says of it: names may hold colons and brackets.
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

/** A header with unknown words: what the known ones say, else counts of null. Null when it has no name. */
export function parseOddHeader(trimmed: string): FeatureHeader | null {
  const [, name, rest = ""] = ODD.exec(trimmed) ?? [];
  if (name === undefined) return null;
  const count = (pattern: RegExp) => {
    const found = pattern.exec(rest);
    return found === null ? null : Number(found[1]);
  };
  return counted(name, count(ISSUED), trimBlanks(rest) === "None" ? 0 : count(IN_USE));
}

/** `NAME:  (…)` with the bracket that begins at the last `mark` and fits the pattern. */
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

/** A feature's block as its lines come in; the table of `-i` is laid over it at the end of the output. */
export type Block = ReturnType<typeof openBlock>;

/** `part`: which license server's part of the output it stands in. */
export function openBlock(header: FeatureHeader, daemon: string, part: number) {
  return {
    ...header,
    daemon,
    part,
    /** The daemon that the first pool line names; null when there is none. */
    vendor: null as string | null,
    /** The license server that gave the first seat, `host/port`; null when there is none. */
    server: null as string | null,
    pools: [] as PoolDraft[],
    checkouts: [] as FeatureReading["checkouts"][number][],
    reservations: [] as FeatureReading["reservations"][number][],
    queue: [] as FeatureReading["queue"][number][],
    /** Seats of checkouts and reservations that stand under no pool line. */
    loose: 0,
    /** Seats of all checkouts and reservations. */
    held: 0,
    /** The last line was the pool's own: what describes the pool is still to come. */
    describing: false,
    /** A line of it was not understood. */
    doubtful: false,
  };
}

export type PoolDraft = ReturnType<typeof openPool>;

/** `tableOnly`: only the table of `-i` names it. */
export function openPool(version: string | null, expiry: Expiry, tableOnly = false) {
  return {
    version,
    vendorString: null as string | null,
    kind: "unknown" as PoolReading["kind"],
    total: null as number | null,
    unlimited: false,
    expiry,
    /** Seats of checkouts and reservations under it. */
    held: 0,
    tableOnly,
    /** Whether the checkouts without a pool, or under a pool of the same version, may be its own. */
    doubtful: false,
  };
}

/** Index of the pool under which a line stands now. */
export function poolOf(block: Block): number | null {
  return block.pools.length === 0 ? null : block.pools.length - 1;
}

/** Counts the seats of a checkout or a reservation, which the tool's `in use` includes. */
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
 * `in use` = Σ seats of checkouts + Σ seats of reservations, measured over untouched outputs. Fewer: lines are
 * missing. More: checkouts share seats (duplicate grouping). More than the total too: a line is wrong. An uncounted
 * feature has nothing to compare with.
 */
export function consistencyOf({ held, used, total }: Block): Consistency {
  if (used === null || held === used) return "ok";
  if (held < used) return "short";
  return total !== null && held > total ? "short" : "shared";
}

/** The finished feature. A pool's `used` is known only where the block's lines add up. */
export function closeBlock(block: Block, isCut: boolean): FeatureReading {
  const { daemon, name, total, used, unlimited, error, checkouts, reservations, queue } = block;
  const consistency = consistencyOf(block);
  const pools = block.pools.map((pool): PoolReading => {
    const { version, vendorString, kind, expiry } = pool;
    // The header's total is the only pool's own, unless the license file says better.
    const ownTotal = pool.total ?? (block.pools.length === 1 && !pool.unlimited ? total : null);
    const counts = { total: ownTotal, used: usedOf(block, pool, consistency), unlimited: pool.unlimited };
    return { number: null, version, vendorString, kind, ...counts, expiry };
  });
  const cut = isCut || block.doubtful;
  const counts = { daemon, name, total, used, unlimited, error };
  return { ...counts, pools, checkouts, reservations, queue, consistency, cut };
}

function usedOf(block: Block, pool: PoolDraft, consistency: Consistency): number | null {
  // Where nothing is counted, nothing shows that no line is missing.
  if (consistency !== "ok" || block.used === null) return null;
  if (!pool.tableOnly) return pool.held;
  return block.held === 0 || (block.loose === 0 && !pool.doubtful) ? 0 : null;
}
