import { type ComponentChildren, Fragment } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { type Identified, slotsOf } from "../rows.ts";
import { isOnPaper } from "./paper.ts";

/** Extra rows at each end, so that scrolling shows no gap. */
const SPARE = 4;

interface Props<T> {
  readonly rows: readonly T[];
  /** One `role="row"`, all of equal height. `index` is for `aria-rowindex`: the head is 1. */
  readonly children: (row: T, index: number) => ComponentChildren;
  /** Called when the set of rendered rows changes. */
  readonly seen?: ((rows: readonly T[]) => void) | undefined;
}

/**
 * Renders the visible rows and reserves room for the others; in print, all rows. A row keeps its elements,
 * and with them the focus, while it is shown. Elements of removed rows are reused, which is cheaper than
 * new ones.
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
