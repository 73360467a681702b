import type { ComponentChildren } from "preact";
import type { Keyed } from "./arrange.ts";

/** A table column: any value with its sort key, a number that may be unknown, or a time. */
export type Column<T> = {
  /** Hidden in narrow windows. */
  readonly wide?: boolean;
  /** One of a few fixed words that must not break. */
  readonly isWord?: boolean;
} & Keyed<
  T,
  { readonly cell: (row: T) => ComponentChildren; readonly right?: boolean },
  { readonly as?: (value: number) => string },
  { readonly otherwise?: string }
>;
