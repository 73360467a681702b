/**
 * Detects repeated blocks, for texts that contain the output of one server twice. A block is a copy if an
 * earlier part of the same server has a block with the same key.
 */
export function createCopies<Block extends { cut: boolean }>() {
  const known = new Map<string, { readonly block: Block; readonly part: number }>();
  let server = "";
  let part = 0;
  return {
    begin(name: string): void {
      server = name;
      part++;
    },
    /**
     * Reports whether the block is a copy. If so, marks the first block as cut, because the counts of
     * either block may be the right ones.
     */
    isCopy(key: string, block: Block): boolean {
      const first = known.getOrInsert(`${server}\0${key}`, { block, part });
      if (first.part === part) return false;
      first.block.cut = true;
      return true;
    },
  };
}
