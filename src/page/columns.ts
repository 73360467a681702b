import type { ComponentChildren } from "preact";
import type { Keyed } from "./arrange.ts";

/** A column of a table: anything with what it sorts by, a number that may not be known, or a time. */
export type Column<T> = {
  /** Left out where there is little room. */
  readonly wide?: boolean;
  /** Of a few fixed words, which do not break. */
  readonly isWord?: boolean;
} & Keyed<
  T,
  { readonly cell: (row: T) => ComponentChildren; readonly right?: boolean },
  { readonly as?: (value: number) => string },
  { readonly otherwise?: string }
>;
