import { type ComponentChildren, Fragment } from "preact";
import { plural } from "../format.ts";
import { go, linkTo, page } from "../router.ts";
import type { Identified } from "../rows.ts";
import { SortHead } from "./head-cell.tsx";
import { VirtualRows } from "./virtual.tsx";

/** A column of a list: head and cell. */
export interface ListColumn<T> {
  readonly head: string;
  /** Sort word of the head; without one it is not a button. */
  readonly order?: string;
  readonly width: string;
  /** Class of head and cells. `opt` is hidden in narrow windows; `a-n`, … are places on a phone's card. */
  readonly class?: string;
  readonly cell: (row: T) => ComponentChildren;
}

/** A live list. Only visible rows have elements, unless the list `isWhole` or is printed. */
export function ListTable<T extends Identified>(props: {
  readonly label: string;
  readonly rows: readonly T[];
  readonly columns: readonly ListColumn<T>[];
  readonly class: string;
  /** Default order. */
  readonly first?: string;
  /** Parameter of the address that has the order. */
  readonly name?: string;
  readonly rowClass?: (row: T) => string;
  readonly isWhole?: boolean;
  /** Called when the set of rendered rows changes. */
  readonly seen?: (rows: readonly T[]) => void;
}) {
  const { label, rows, columns, first = "", name = "sort", rowClass, isWhole = false, seen } = props;
  const widths = (of: readonly ListColumn<T>[]) => of.map(({ width }) => width).join(" ");
  const narrow = columns.filter((column) => column.class?.includes("opt") !== true);
  const show = (row: T, index: number) => (
    <div class={`tr ${rowClass?.(row) ?? ""}`} role="row" aria-rowindex={index}>
      {columns.map((column) => (
        <span key={column.head} role="cell" class={column.class}>
          {column.cell(row)}
        </span>
      ))}
    </div>
  );
  return (
    <div
      class={`t list ${props.class}`}
      role="table"
      aria-label={label}
      aria-rowcount={rows.length + 1}
      style={{ "--all": widths(columns), "--narrow": widths(narrow) }}
    >
      <div class="tr th" role="row" aria-rowindex={1}>
        {columns.map(({ head, order, class: of }) =>
          order === undefined ? (
            <span key={head} role="columnheader" class={of}>
              {head}
            </span>
          ) : (
            <SortHead key={head} order={order} first={first} name={name} class={of}>
              {head}
            </SortHead>
          ),
        )}
      </div>
      {isWhole ? (
        rows.map((row, at) => <Fragment key={row.id}>{show(row, at + 2)}</Fragment>)
      ) : (
        <VirtualRows rows={rows} seen={seen}>
          {show}
        </VirtualRows>
      )}
    </div>
  );
}

/** Shown when no row matches the filters. */
export function NoMatch() {
  return (
    <div class="empty">
      <p>Nothing matches.</p>
      <button class="btn" type="button" onClick={() => go(linkTo(page.value))}>
        Clear filters
      </button>
    </div>
  );
}

/** Sorts the rows that kept their places. */
export function SortAgain({ moved, again }: { readonly moved: number; readonly again: () => void }) {
  if (moved === 0) return null;
  return (
    <button class="btn" type="button" onClick={again}>
      {`${plural(moved, "change")}: sort again`}
    </button>
  );
}
