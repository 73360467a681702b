import type { Expiry } from "../../domain/reading.ts";
import type { Block, PoolDraft } from "./block.ts";
import { openBlock, setKind } from "./block.ts";
import type { TableRow } from "./table-row.ts";

/**
 * Lays the rows of `lmstat -i`, which come from the license file, over the blocks of `-a`, which come from the
 * server. A row gives its count (and an expiry that `-a` left out) to the one pool of its feature, daemon, version
 * and expiry; a row that no pool line stands for becomes a pool of its feature. It never adds to a feature's counts.
 */
export function joinTable(blocks: readonly Block[], rows: readonly TableRow[]): void {
  const rowsOf = group(rows, (row) => identity(row.vendor, row.feature));
  const rowsOfName = group(rows, (row) => row.feature);
  const blocksOf = group(blocks, (block) => identity(block.daemon, block.name));
  for (const same of blocksOf.values()) {
    const [first] = same;
    if (first === undefined) continue;
    const own =
      first.daemon === "" ? rowsOfName.get(first.name) : rowsOf.get(identity(first.daemon, first.name));
    if (own === undefined) continue;
    if (same.length === 1) joinRows(first, own);
    else joinSeveral(same, own);
  }
}

/**
 * Rows of one identity that stands in several blocks: to the block of their pool, or of their count. Equal rows belong
 * to the license files of several servers and go to their blocks in turn.
 */
function joinSeveral(blocks: readonly Block[], rows: readonly TableRow[]): void {
  const pools = blocks.flatMap((block) => block.pools.map((pool) => ({ pool, block })));
  const byPool = group(
    pools.filter(({ pool }) => isKnown(pool.expiry)),
    ({ pool }) => exactKey(pool),
  );
  const byTotal = group(blocks, (block) => block.total ?? -1);
  const times = new Map<string, number>();
  const taken = new Map<Block, TableRow[]>();
  for (const row of rows) {
    const rowKey = key(spelling(row.version), row.expiry);
    const same = `${row.count} ${rowKey}`;
    const turn = times.get(same) ?? 0;
    times.set(same, turn + 1);
    const fitting =
      byPool.get(rowKey)?.map(({ block }) => block) ?? byTotal.get(row.count ?? -1) ?? blocks.slice(0, 1);
    const owner = fitting[turn % fitting.length];
    if (owner === undefined) continue;
    const own = taken.get(owner);
    if (own === undefined) taken.set(owner, [row]);
    else own.push(row);
  }
  for (const [block, own] of taken) joinRows(block, own);
}

function joinRows(block: Block, rows: readonly TableRow[]): void {
  const [onlyPool] = block.pools;
  const [onlyRow] = rows;
  if (onlyPool !== undefined && onlyRow !== undefined && block.pools.length === 1 && rows.length === 1) {
    joinOne(block, onlyPool, onlyRow);
    return;
  }
  const printed = block.pools.length;
  const pools = block.pools.slice();
  const poolsExact = group(pools, exactKey);
  const poolsByVersion = group(pools, (pool) => pool.version ?? "");
  const rowsExact = group(rows, (row) => key(spelling(row.version), row.expiry));
  const rowsByVersion = group(rows, (row) => spelling(row.version));
  const represented = new Set<string>();
  const joined = new Set<TableRow>();

  for (const pool of pools) {
    const version = pool.version ?? "";
    const known = isKnown(pool.expiry);
    const candidates = known ? rowsExact.get(exactKey(pool)) : rowsByVersion.get(version);
    const rivals = known ? poolsExact.get(exactKey(pool)) : poolsByVersion.get(version);
    if (candidates === undefined) continue;
    const row = rivals?.length === 1 ? uniqueRow(candidates, printed === 1 ? block.total : null) : undefined;
    if (row !== undefined) give(pool, row);
    // Rows of one version and expiry are one pool to the server, which rows whose expiry is unknown to us may not be.
    if (known) represented.add(exactKey(pool));
    else if (row !== undefined) joined.add(row);
  }
  for (const row of rows) {
    const version = spelling(row.version);
    if (joined.has(row) || represented.has(key(version, row.expiry))) continue;
    block.pools.push(tablePool(row, version, poolsByVersion.has(version)));
  }
}

/** One pool, one row, as nearly every feature has them: the same rules without the maps. */
function joinOne(block: Block, pool: PoolDraft, row: TableRow): void {
  const version = spelling(row.version);
  const sameVersion = (pool.version ?? "") === version;
  const same = isKnown(pool.expiry) ? exactKey(pool) === key(version, row.expiry) : sameVersion;
  if (same) give(pool, row);
  else block.pools.push(tablePool(row, version, sameVersion));
}

function uniqueRow(rows: readonly TableRow[], count: number | null): TableRow | undefined {
  if (rows.length === 1) return rows[0];
  const equal = count === null ? [] : rows.filter((row) => row.count === count);
  return equal.length === 1 ? equal[0] : undefined;
}

function give(pool: PoolDraft, row: TableRow): void {
  if (row.count === null) pool.unlimited = true;
  else if (!pool.unlimited) pool.total = row.count;
  if (!isKnown(pool.expiry)) pool.expiry = row.expiry;
}

function tablePool(row: TableRow, version: string, doubtful: boolean): PoolDraft {
  const pool: PoolDraft = {
    version,
    vendorString: null,
    kind: "unknown",
    total: row.count,
    unlimited: false,
    expiry: row.expiry,
    held: 0,
    tableOnly: true,
    doubtful,
  };
  if (row.count === null) setKind(pool, "uncounted");
  return pool;
}

/**
 * Features of rows alone, for daemons whose feature list `-a` did not print: the license file knows the totals,
 * nobody knows the use.
 */
export function blocksOfTable(rows: readonly TableRow[], wanted: (vendor: string) => boolean): Block[] {
  const blocks: Block[] = [];
  const own = rows.filter((row) => wanted(row.vendor));
  for (const same of group(own, (row) => identity(row.vendor, row.feature)).values()) {
    const [first] = same;
    if (first === undefined) continue;
    const unlimited = same.some((row) => row.count === null);
    const total = unlimited ? null : same.reduce((sum, row) => sum + (row.count ?? 0), 0);
    const header = { name: first.feature, total, used: null, unlimited, error: null };
    const block = openBlock(header, first.vendor, 0);
    for (const row of same) block.pools.push(tablePool(row, spelling(row.version), false));
    blocks.push(block);
  }
  return blocks;
}

/** The table prints versions without the `v` that pool lines have. */
function spelling(version: string): string {
  return /^v/i.test(version) ? version : `v${version}`;
}

function isKnown(expiry: Expiry): boolean {
  return expiry.permanent || expiry.expiresOn !== null;
}

function exactKey(pool: PoolDraft): string {
  return key(pool.version ?? "", pool.expiry);
}

function key(version: string, expiry: Expiry): string {
  return `${version} ${expiry.permanent ? "permanent" : expiry.expiresOn}`;
}

function identity(daemon: string, feature: string): string {
  return `${daemon}\n${feature}`;
}

function group<T, K>(items: Iterable<T>, keyOf: (item: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>();
  for (const item of items) {
    const at = keyOf(item);
    const found = groups.get(at);
    if (found === undefined) groups.set(at, [item]);
    else found.push(item);
  }
  return groups;
}
