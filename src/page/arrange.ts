import { compareNullsLast } from "../domain/order.ts";
import { moment } from "./format.ts";

type Key = string | number | null;

/**
 * A table column. Its value is any value with a sort key (null for buttons), a number that may be unknown,
 * or a time.
 */
export type Keyed<T, Cell = unknown> = {
  readonly head: string;
  /** True if the column is hidden in narrow windows. */
  readonly wide?: boolean;
  /** True if the cells have one of a few fixed words, which must not break. */
  readonly isWord?: boolean;
} & (
  | {
      readonly by: ((row: T) => Key) | null;
      readonly cell?: (row: T) => Cell;
      /** Style of the cells: `m` is monospaced, `q` is muted. */
      readonly style?: "m" | "q";
      readonly right?: boolean;
    }
  | { readonly value: (row: T) => number | null; readonly as?: (value: number) => string }
  | { readonly time: (row: T) => string | null; readonly otherwise?: string }
);

function keyOf<T>(column: Keyed<T>, row: T): Key {
  if ("by" in column) return column.by?.(row) ?? null;
  if ("value" in column) return column.value(row);
  const at = column.time(row);
  return at === null ? null : Date.parse(at);
}

function textOf<T>(columns: readonly Keyed<T>[], row: T, now: number): string {
  const texts = columns.map((column) => {
    const key = keyOf(column, row);
    return "time" in column && typeof key === "number"
      ? moment(key, now)
      : typeof key === "string"
        ? key
        : "";
  });
  return texts.join("\n").toLowerCase();
}

export const hasText = <T>(columns: readonly Keyed<T>[], [first]: readonly T[]): boolean =>
  first !== undefined &&
  columns.some((column) => "time" in column || typeof keyOf(column, first) === "string");

/** Returns `last-used` for `Last used`: the name of a column or table in the address. */
export const slugOf = (head: string): string => head.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");

const lower = (key: Key) => (typeof key === "string" ? key.toLowerCase() : key);

/**
 * Returns the rows that match all words. If `sort` names a column (`last-used`, or `-last-used` for
 * descending), sorts the rows by it.
 */
export function arranged<T>(
  rows: readonly T[],
  columns: readonly Keyed<T>[],
  { sort, search, now }: Readonly<{ sort: string; search: string; now: number }>,
): readonly T[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const found =
    words.length === 0
      ? rows
      : rows.filter((row) => {
          const text = textOf(columns, row, now);
          return words.every((word) => text.includes(word));
        });
  const column = columns.find(({ head }) => slugOf(head) === sort.replace(/^-/, ""));
  if (column === undefined) return found;
  const keyed = found.map((row) => ({ row, key: lower(keyOf(column, row)) }));
  return keyed.sort((a, b) => compareNullsLast(a.key, b.key, sort.startsWith("-"))).map(({ row }) => row);
}
