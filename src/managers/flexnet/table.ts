import { parseExpiry } from "../../domain/expiry.ts";
import { type Expiry, UNKNOWN_EXPIRY } from "../../domain/reading.ts";
import { type Block, openBlock, openPool, type PoolDraft, setKind } from "./block.ts";

/** Old tools print Expires first, newer ones Vendor. */
export type TableOrder = "expires-vendor" | "vendor-expires";

export type TableRow = NonNullable<ReturnType<typeof parseTableRow>>;

const HEADER = /^Feature\s+Version\s+#\s?licen[sc]es\s+(Expires|Vendor)\s+(?:Vendor|Expires)[ \t]*$/i;
const EXPIRY_START = /^(?:permanent|\d{1,2}-[a-z]{3}-\d)/i;
const COUNT = /^(?:\d{1,15}|uncounted)$/i;

export function parseTableHeader(trimmed: string): TableOrder | null {
  const found = HEADER.exec(trimmed);
  if (found === null) return null;
  return found[1]?.toLowerCase() === "expires" ? "expires-vendor" : "vendor-expires";
}

/** Parses a row from its expiry, which may contain blanks (`permanent(no expiration date)`). */
export function parseTableRow(text: string, order: TableOrder, zone: string) {
  /** Words at even indexes, the blanks between them at odd ones. */
  const parts = text.split(/([ \t]+)/);
  const words = (parts.length + 1) / 2;
  const word = (index: number) => parts[2 * index] ?? "";
  const range = (from: number, last: number) => parts.slice(2 * from, 2 * last + 1).join("");
  const vendorLast = order === "expires-vendor";

  let expiryAt = words - (vendorLast ? 2 : 1);
  while (expiryAt > 0 && !EXPIRY_START.test(word(expiryAt))) expiryAt--;
  // If no word looks like an expiry, use the place that it usually has.
  if (expiryAt <= 0) expiryAt = vendorLast ? 3 : 4;

  const countAt = vendorLast ? expiryAt - 1 : expiryAt - 2;
  if (countAt < 2 || expiryAt >= words - (vendorLast ? 1 : 0)) return null;
  const countText = word(countAt);
  if (!COUNT.test(countText)) return null;
  const number = Number(countText);
  const expiryEnd = vendorLast ? words - 2 : words - 1;
  const expiry = parseExpiry(range(expiryAt, expiryEnd), zone);
  return {
    feature: range(0, countAt - 2),
    version: word(countAt - 1),
    count: number > 0 ? number : null,
    vendor: vendorLast ? word(words - 1) : word(countAt + 1),
    expiry: expiry?.expiry ?? UNKNOWN_EXPIRY,
    understood: expiry?.rest === "",
  };
}

/**
 * Removes blocks that lmstat printed twice in one license server's part of the output. Equal blocks within
 * a daemon's list count once. The lists of two daemons are treated as one if a checkout in both has the
 * same handle, server and port, or if one list repeats every block of the other line for line. Keeps the
 * copy under the daemon that the pool line names, else the copy under the daemon that the row of `-i`
 * names, else the first copy. `cutBlock` is the last block if the text is cut.
 */
export function dropRepeated(
  blocks: readonly Block[],
  rows: readonly TableRow[],
  cutBlock: Block | null,
): readonly Block[] {
  if (new Set(blocks.map(({ name }) => name)).size === blocks.length) return blocks;
  const contents = contentsOfNamesakes(blocks);
  const lists = createLists();
  joinSeated(contents, lists);
  joinRepeated(blocks, contents, cutBlock, lists);
  const vendors = new Map(rows.map(({ feature, vendor }) => [feature, vendor]));
  const isOwn = ({ daemon, vendor, name }: Block) => daemon === (vendor ?? vendors.get(name));
  const kept = new Map<string, Block>();
  const dropped = new Set<Block>();
  for (const [block, content] of contents) {
    const key = `${lists.of(block)}\n${content}`;
    const copy = kept.get(key);
    const isBetter = copy === undefined || (isOwn(block) && !isOwn(copy));
    if (isBetter) kept.set(key, block);
    if (copy !== undefined) dropped.add(isBetter ? copy : block);
  }
  return blocks.filter((block) => !dropped.has(block));
}

function contentsOfNamesakes(blocks: readonly Block[]): Map<Block, string> {
  const contents = new Map<Block, string>();
  for (const namesakes of Map.groupBy(blocks, (block) => block.name).values()) {
    if (namesakes.length === 1) continue;
    for (const block of namesakes) {
      // Ignore whether a block is cut, because a cut copy must not count twice either.
      const { daemon, vendor, describing, doubtful, ...content } = block;
      contents.set(block, JSON.stringify(content));
    }
  }
  return contents;
}

/** Tracks the lists of blocks, one per daemon and part. */
function createLists() {
  const joined = new Map<string, string>();
  const of = (block: Block) => {
    const own = listKey(block);
    let list = own;
    for (let next = joined.get(list); next !== undefined; next = joined.get(list)) list = next;
    if (list !== own) joined.set(own, list);
    return list;
  };
  return {
    of,
    join(first: Block, second: Block): void {
      const [one, other] = [of(first), of(second)];
      if (one !== other) joined.set(other, one);
    },
  };
}

type Lists = ReturnType<typeof createLists>;

function listKey({ part, daemon }: Block): string {
  return `${part}\n${daemon}`;
}

function joinSeated(contents: ReadonlyMap<Block, string>, lists: Lists): void {
  const seated = new Map<string, Block>();
  for (const [block, content] of contents) {
    if (![...block.checkouts, ...block.queue].some(({ handle }) => handle !== null)) continue;
    const first = seated.get(content) ?? block;
    seated.set(content, first);
    lists.join(first, block);
  }
}

/** Joins a list to a longer or earlier list of its part that contains all its blocks. */
function joinRepeated(
  blocks: readonly Block[],
  contents: ReadonlyMap<Block, string>,
  cutBlock: Block | null,
  lists: Lists,
): void {
  const linesOf = (block: Block) => `${block.part}\n${block.vendor}\n${contents.get(block)}`;
  const byDaemon = [...Map.groupBy(blocks, listKey).values()].map((list) => {
    // Lines may be missing from the last block of a cut text.
    const whole = list.filter((block) => block !== cutBlock);
    return {
      first: whole[0],
      lines: new Set(whole.map(linesOf)),
      isOwn: whole.some((each) => !contents.has(each)),
    };
  });
  /** Lists that were not joined to another list, by the lines of their blocks. */
  const holders = new Map<string, typeof byDaemon>();
  for (const list of byDaemon.toSorted((a, b) => b.lines.size - a.lines.size)) {
    const { first, lines, isOwn } = list;
    if (first === undefined) continue;
    // Search only the lists that contain the rarest block.
    const candidates = [...lines]
      .map((each) => holders.get(each) ?? [])
      .reduce((fewest, each) => (each.length < fewest.length ? each : fewest));
    const whole = isOwn ? undefined : candidates.find((other) => lines.isSubsetOf(other.lines));
    if (whole?.first !== undefined) lists.join(whole.first, first);
    else for (const each of lines) holders.set(each, [...(holders.get(each) ?? []), list]);
  }
}

/**
 * Merges the rows of `lmstat -i` (license file) into the blocks of `-a` (server). If one pool matches a
 * row's feature, daemon, version and expiry, the row sets the pool's count, and the pool's expiry if
 * missing. Otherwise the row becomes a pool.
 */
export function joinTable(blocks: readonly Block[], rows: readonly TableRow[]): void {
  if (rows.length === 0) return;
  const ofVendor = Map.groupBy(rows, ({ vendor, feature }) => `${vendor}\n${feature}`);
  // Blocks without a daemon's name take the rows of every vendor.
  const isNameless = blocks.some(({ daemon }) => daemon === "");
  const ofAny = isNameless ? Map.groupBy(rows, ({ feature }) => `\n${feature}`) : ofVendor;
  for (const [owner, same] of Map.groupBy(blocks, ({ daemon, name }) => `${daemon}\n${name}`)) {
    const own = (owner.startsWith("\n") ? ofAny : ofVendor).get(owner) ?? [];
    const [only, second] = same;
    if (second !== undefined) joinSeveral(same, own);
    else if (only !== undefined) joinRows(only, own);
  }
}

/**
 * Distributes rows to the block with their pool or count. Equal rows come from the license files of several
 * servers and are assigned round-robin.
 */
function joinSeveral(blocks: readonly Block[], rows: readonly TableRow[]): void {
  const pools = blocks.flatMap((block) => block.pools.map((pool) => ({ pool, block })));
  const known = pools.filter(({ pool }) => isKnown(pool.expiry));
  const byPool = Map.groupBy(known, ({ pool }) => exactKey(pool));
  const byTotal = Map.groupBy(blocks, (block) => block.total ?? -1);
  const turns = new Map<string, number>();
  const ownerOf = (row: TableRow) => {
    const rowKey = key(spelling(row.version), row.expiry);
    const turn = turns.get(`${row.count} ${rowKey}`) ?? 0;
    turns.set(`${row.count} ${rowKey}`, turn + 1);
    const ofPool = byPool.get(rowKey)?.map(({ block }) => block);
    const fitting = ofPool ?? byTotal.get(row.count ?? -1) ?? blocks.slice(0, 1);
    return fitting[turn % fitting.length];
  };
  for (const [block, own] of Map.groupBy(rows, ownerOf)) if (block !== undefined) joinRows(block, own);
}

function joinRows(block: Block, rows: readonly TableRow[]): void {
  if (rows.length === 0) return;
  const pools = block.pools.slice();
  const poolsExact = grouped(pools, exactKey);
  const poolsByVersion = grouped(pools, (pool) => pool.version ?? "");
  const rowsExact = grouped(rows, (row) => key(spelling(row.version), row.expiry));
  const rowsByVersion = grouped(rows, (row) => spelling(row.version));
  const represented = new Set<string>();
  const joined = new Set<TableRow>();

  for (const pool of pools) {
    const exact = exactKey(pool);
    const version = pool.version ?? "";
    const known = isKnown(pool.expiry);
    const candidates = known ? rowsExact(exact) : rowsByVersion(version);
    const rivals = known ? poolsExact(exact) : poolsByVersion(version);
    if (candidates === undefined) continue;
    const count = pools.length === 1 ? block.total : null;
    const row = rivals?.length === 1 ? uniqueRow(candidates, count) : undefined;
    if (row !== undefined) give(pool, row);
    // The server merges rows of one version and expiry into one pool, so such a pool represents all these
    // rows. Rows with an unknown expiry may belong to several pools.
    if (known) represented.add(exact);
    else if (row !== undefined) joined.add(row);
  }
  for (const row of rows) {
    const version = spelling(row.version);
    if (joined.has(row) || represented.has(key(version, row.expiry))) continue;
    block.pools.push(tablePool(row, version, poolsByVersion(version) !== undefined));
  }
}

/** Groups items by key. Most features have one pool and one row, for which no map is built. */
function grouped<T>(items: readonly T[], keyOf: (item: T) => string) {
  const [only] = items;
  if (only === undefined || items.length > 1) {
    const groups = Map.groupBy(items, keyOf);
    return (wanted: string): readonly T[] | undefined => groups.get(wanted);
  }
  const own = keyOf(only);
  return (wanted: string) => (wanted === own ? items : undefined);
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
  const pool = openPool(version, row.expiry, true);
  pool.total = row.count;
  pool.doubtful = doubtful;
  if (row.count === null) setKind(pool, "uncounted");
  return pool;
}

/** Builds features from rows without a block. Their use is unknown. */
export function blocksOfTable(rows: readonly TableRow[], wanted: (row: TableRow) => boolean): Block[] {
  const blocks: Block[] = [];
  const own = rows.filter(wanted);
  for (const same of Map.groupBy(own, (row) => `${row.vendor}\n${row.feature}`).values()) {
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

/** Adds the `v` that pool lines have and the table omits. */
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
