import { type ComponentChildren, Fragment } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { compareNullsLast } from "../../domain/order.ts";
import { plural } from "../format.ts";
import { go, linkTo, page, query, setQuery } from "../router.ts";
import { type Identified, slotsOf, steady } from "../rows.ts";
import { isOnPaper } from "./print-foot.tsx";

export interface ListColumn<T> {
  readonly head: string;
  /** Name of the column in `sort`. Without it, the head is not a button. */
  readonly order?: string;
  readonly by?: (row: T) => string | number | null;
  readonly width: string;
  /** Class of head and cells. `opt` is hidden in narrow windows; `a-n`, … are places on a phone's card. */
  readonly class?: string;
  readonly cell: (row: T) => ComponentChildren;
}

/** Sorts by the column that `sort` names (`-count` = descending), then by `tie`. */
export function sortedBy<T>(
  rows: readonly T[],
  columns: readonly ListColumn<T>[],
  sort: string,
  tie: (a: T, b: T) => number,
): T[] {
  const by = columns.find(({ order }) => order === sort.replace("-", ""))?.by ?? (() => null);
  return rows.toSorted((a, b) => compareNullsLast(by(a), by(b), sort.startsWith("-")) || tie(a, b));
}

/** A live list. Only visible rows have elements, unless the list `isWhole` or is printed. */
export function ListTable<T extends Identified>(props: {
  readonly label: string;
  readonly rows: readonly T[];
  readonly columns: readonly ListColumn<T>[];
  readonly class: string;
  readonly first?: string;
  readonly name?: string;
  readonly rowClass?: (row: T) => string;
  readonly isWhole?: boolean;
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

export function SortAgain({ moved, again }: Readonly<{ moved: number; again: () => void }>) {
  if (moved === 0) return null;
  return (
    <button class="btn" type="button" onClick={again}>
      {`${plural(moved, "change")}: sort again`}
    </button>
  );
}

export function SortHead(props: {
  readonly order: string;
  readonly first: string;
  readonly name?: string;
  readonly falls?: boolean;
  readonly isCell?: boolean;
  readonly class?: string | undefined;
  readonly children: string;
}) {
  const { order, first, name = "sort", isCell = false } = props;
  const sort = query.value.get(name) ?? first;
  const isSorted = sort.replace(/^-/, "") === order;
  const falls = isSorted && sort.startsWith("-");
  const next = (isSorted ? !falls : props.falls === true) ? `-${order}` : order;
  const attributes = {
    class: props.class,
    ...(isSorted && { "aria-sort": falls ? ("descending" as const) : ("ascending" as const) }),
  };
  const button = (
    <button
      type="button"
      class="sort"
      onClick={() => setQuery({ [name]: next === first ? null : next }, true)}
    >
      {props.children}
      {isSorted && (
        <svg width="8" height="8" aria-hidden="true">
          <path class="caret" d={falls ? "M0 2 4 7l4-5Z" : "M0 6 4 1l4 5Z"} />
        </svg>
      )}
    </button>
  );
  if (isCell)
    return (
      <th scope="col" {...attributes}>
        {button}
      </th>
    );
  return (
    <span role="columnheader" {...attributes}>
      {button}
    </span>
  );
}

const SPARE = 4;

interface Props<T> {
  readonly rows: readonly T[];
  /** Renders one `role="row"`; all rows have equal height. `index` is for `aria-rowindex`, where the head is 1. */
  readonly children: (row: T, index: number) => ComponentChildren;
  readonly seen?: ((rows: readonly T[]) => void) | undefined;
}

/**
 * Renders the visible rows and reserves room for the others; in print, renders all rows. While a row is
 * shown, it keeps its elements, and with them the focus. Elements of removed rows are reused, which is
 * cheaper than creating new ones.
 */
export function VirtualRows<T extends Identified>({ rows, children, seen }: Props<T>) {
  const box = useRef<HTMLDivElement>(null);
  const slots = useRef<ReadonlyMap<string, number>>(new Map());
  const [view, setView] = useState({ from: 0, end: 30, height: 32 });

  useLayoutEffect(() => {
    let [top, height] = [0, 32];
    const look = () => {
      const from = Math.max(0, Math.floor((scrollY - top) / height) - SPARE);
      const end = Math.ceil((scrollY + innerHeight - top) / height) + SPARE;
      setView((old) =>
        old.from === from && old.end === end && old.height === height ? old : { from, end, height },
      );
    };
    // The observer runs after the layout, so reading sizes forces none.
    const observer = new ResizeObserver(() => {
      const element = box.current;
      if (element === null) return;
      top = element.getBoundingClientRect().top + scrollY;
      height = element.firstElementChild?.getBoundingClientRect().height || height;
      look();
    });
    observer.observe(document.body);
    addEventListener("scroll", look, { passive: true });
    addEventListener("resize", look);
    return () => {
      observer.disconnect();
      removeEventListener("scroll", look);
      removeEventListener("resize", look);
    };
  }, []);

  const isWhole = isOnPaper.value;
  const count = isWhole ? rows.length : view.end - view.from;
  const from = Math.max(0, Math.min(view.from, rows.length - count));
  const shown = rows.slice(from, from + count);
  const below = rows.length - from - shown.length;
  slots.current = slotsOf(shown, slots.current);
  useEffect(() => {
    if (!isWhole) seen?.(shown);
  }, [shown.map(({ id }) => id).join("\n")]);
  return (
    <div
      ref={box}
      role="rowgroup"
      style={{ paddingTop: `${from * view.height}px`, paddingBottom: `${below * view.height}px` }}
    >
      {shown.map((row, at) => (
        <Fragment key={slots.current.get(row.id)}>{children(row, from + at + 2)}</Fragment>
      ))}
    </div>
  );
}

const LEAVES_MS = 3_000;

/**
 * Keeps rows in place while the pointer or the focus is on them, so that clicks hit the intended row. A
 * changed `question` (filter, sort) or a call of `again` sorts the rows.
 */
export function useSteadyOrder<T extends Identified>(fresh: readonly T[], question: string) {
  const [isHeld, setHeld] = useState(false);
  const leaving = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const last = useRef<{ readonly question: string; readonly rows: readonly T[] }>({ question: "", rows: [] });
  const isSame = last.current.question === question;
  const shown = isHeld && isSame ? steady(fresh, last.current.rows) : { rows: fresh, moved: 0 };
  last.current = { question, rows: shown.rows };
  const hold = () => {
    clearTimeout(leaving.current);
    setHeld(true);
  };
  const leave = () => {
    clearTimeout(leaving.current);
    leaving.current = setTimeout(() => setHeld(false), LEAVES_MS);
  };
  return {
    ...shown,
    again: () => setHeld(false),
    events: { onPointerEnter: hold, onPointerLeave: leave, onFocusIn: hold, onFocusOut: leave },
  };
}
