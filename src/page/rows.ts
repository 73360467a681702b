export type Identified = Readonly<{ id: string }>;

/** Returns `fresh` in the order of `before`, new rows last, and the number of rows that moved. */
export function steady<T extends Identified>(fresh: readonly T[], before: readonly Identified[]) {
  const left = new Map(fresh.map((row) => [row.id, row]));
  const rows: T[] = [];
  for (const { id } of before) {
    const row = left.get(id);
    if (row !== undefined && left.delete(id)) rows.push(row);
  }
  rows.push(...left.values());
  return { rows, moved: rows.filter((row, at) => row.id !== fresh[at]?.id).length };
}

/** Assigns a slot to each row: the row's previous slot, else a free slot. */
export function slotsOf(rows: readonly Identified[], before: ReadonlyMap<string, number>) {
  const slots = new Map<string, number>();
  for (const { id } of rows) {
    const slot = before.get(id);
    if (slot !== undefined) slots.set(id, slot);
  }
  const taken = new Set(slots.values());
  let next = 0;
  for (const { id } of rows) {
    if (slots.has(id)) continue;
    while (taken.has(next)) next++;
    slots.set(id, next++);
  }
  return slots;
}
