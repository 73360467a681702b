import type { Schema } from "../../domain/text-types.ts";
import type { Sort } from "../parameters.ts";

/** Fields of a record that can be sorted by: those with one plain value. */
export function sortable<R extends object>(schema: Schema): readonly (keyof R & string)[] {
  return Object.entries(schema.properties ?? {})
    .filter(
      ([, { type }]) => type === "string" || type === "integer" || type === "number" || type === "boolean",
    )
    .map(([name]) => name as keyof R & string);
}

/** A sorted copy: nulls last whichever way it goes, ties by identity, the rest as it came. */
export function ordered<R extends object>(
  rows: readonly R[],
  sort: Sort<keyof R & string>,
  identity: readonly (keyof R & string)[],
): readonly R[] {
  const sign = sort.descending ? -1 : 1;
  return rows.toSorted((a, b) => {
    const first = compare(a[sort.field], b[sort.field], sign);
    if (first !== 0) return first;
    for (const field of identity) {
      const next = compare(a[field], b[field], 1);
      if (next !== 0) return next;
    }
    return 0;
  });
}

function compare(a: unknown, b: unknown, sign: 1 | -1): number {
  if (a === b) return 0;
  if (a === null || a === undefined) return 1;
  if (b === null || b === undefined) return -1;
  return (a as string | number) < (b as string | number) ? -sign : sign;
}
