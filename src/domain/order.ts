/** A sort order by one field of the rows. */
export interface SortBy<Field extends string> {
  readonly field: Field;
  readonly descending: boolean;
}

/** Compares two texts, numbers or booleans. Null and undefined are last in both directions. */
export function compareNullsLast(a: unknown, b: unknown, descending = false): number {
  if (a === b) return 0;
  if (a === null || a === undefined) return 1;
  if (b === null || b === undefined) return -1;
  return (a as string | number) < (b as string | number) === descending ? 1 : -1;
}

/**
 * Returns a sorted copy, by the first field in which two rows differ. Fields without a direction ascend. Equal rows
 * keep their order.
 */
export function sortedBy<Field extends string, Row extends { readonly [Key in Field]?: unknown }>(
  rows: readonly Row[],
  ...fields: readonly (Field | SortBy<Field>)[]
): Row[] {
  const orders = fields.map((by) => (typeof by === "string" ? { field: by, descending: false } : by));
  return rows.toSorted((a, b) => {
    for (const { field, descending } of orders) {
      const order = compareNullsLast(a[field], b[field], descending);
      if (order !== 0) return order;
    }
    return 0;
  });
}

/** Returns the direction of a term of SQL's ORDER BY that sorts like {@link compareNullsLast}. */
export const sqlNullsLast = (descending: boolean) => `${descending ? "DESC" : "ASC"} NULLS LAST`;
