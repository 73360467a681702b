/** How rows are sorted where they are made: a field of theirs. */
export interface SortBy<Field extends string> {
  readonly field: Field;
  readonly descending: boolean;
}

/** A sorted copy: nulls last whichever way it goes, equal ones as they came. */
export function sortedBy<Field extends string, Row extends Readonly<Record<Field, string | number | null>>>(
  rows: readonly Row[],
  { field, descending }: SortBy<Field>,
): Row[] {
  const sign = descending ? -1 : 1;
  return rows.toSorted((one, other) => {
    const a: string | number | null = one[field];
    const b: string | number | null = other[field];
    if (a === b) return 0;
    if (a === null) return 1;
    if (b === null) return -1;
    return a < b ? -sign : sign;
  });
}
