import { type ComponentChildren, Fragment } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { type Identified, slotsOf } from "../rows.ts";
import { isOnPaper } from "./paper.ts";

/** Rows beyond the window at each end, so that a scroll shows no hole. */
const SPARE = 4;

interface Props<T> {
  readonly rows: readonly T[];
  /** One `role="row"`, of the same height as each other. `index` is for `aria-rowindex`: the head is 1. */
  readonly children: (row: T, index: number) => ComponentChildren;
  /** Is told which rows have elements, when these are others. */
  readonly seen?: ((rows: readonly T[]) => void) | undefined;
}

/**
 * The rows that are in the window, as the page is scrolled, with room for the others; on paper all rows. A row keeps its elements while it is
 * shown, and with them the focus; those of a row that has gone are filled with one that has come, which costs less than new ones.
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
    // An observer is told after the layout, so that reading sizes forces none.
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
