import type { Block } from "./block.ts";

/**
 * The blocks without those that lmstat printed again in one license server's part of its output. Under one daemon, an
 * equal block is the same. Under two it is when its seats are: the same handles of the same server and port. Between
 * the lists of two daemons that share seats, equal blocks without seats are the same too, so that a feature does not
 * count twice while it is idle. Of copies, the one under the daemon that its pool line names stays, else the first.
 */
export function dropRepeated(blocks: readonly Block[]): readonly Block[] {
  const contents = contentsOfNamesakes(blocks);
  if (contents.size === 0) return blocks;
  const listOf = joinLists(contents);
  const kept = new Map<string, Block>();
  const dropped = new Set<Block>();
  for (const [block, content] of contents) {
    const key = `${listOf(block)}\n${content}`;
    const copy = kept.get(key);
    if (copy === undefined || (isOwn(block) && !isOwn(copy))) kept.set(key, block);
    if (copy !== undefined) dropped.add(kept.get(key) === block ? copy : block);
  }
  return blocks.filter((block) => !dropped.has(block));
}

/** What stands in each block that is not the only one of its name in its part. */
function contentsOfNamesakes(blocks: readonly Block[]): Map<Block, string> {
  const times = new Map<string, number>();
  const nameOf = ({ part, name }: Block) => `${part}\n${name}`;
  for (const block of blocks) times.set(nameOf(block), (times.get(nameOf(block)) ?? 0) + 1);
  const contents = new Map<Block, string>();
  for (const block of blocks) {
    if (times.get(nameOf(block)) === 1) continue;
    // A cut copy must not count again either, so the mark of the cut is no difference.
    const { daemon, vendor, describing, doubtful, ...content } = block;
    contents.set(block, JSON.stringify(content));
  }
  return contents;
}

/** The list that a block stands in, by its first daemon: daemons of one part that print the same seats have one list. */
function joinLists(contents: ReadonlyMap<Block, string>): (block: Block) => string {
  const joined = new Map<string, string>();
  const listOf = ({ part, daemon }: Block) => {
    const own = `${part}\n${daemon}`;
    let list = own;
    for (let next = joined.get(list); next !== undefined; next = joined.get(list)) list = next;
    if (list !== own) joined.set(own, list);
    return list;
  };
  const seated = new Map<string, Block>();
  for (const [block, content] of contents) {
    if (![...block.checkouts, ...block.queue].some(({ handle }) => handle !== null)) continue;
    const first = seated.get(content) ?? block;
    seated.set(content, first);
    if (listOf(first) !== listOf(block)) joined.set(listOf(block), listOf(first));
  }
  return listOf;
}

function isOwn({ daemon, vendor }: Block): boolean {
  return daemon === vendor;
}
