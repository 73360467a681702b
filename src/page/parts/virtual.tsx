import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

/** Rows beyond the window at each end, so that a scroll shows no hole. */
const SPARE = 4;

interface Props<T> {
  readonly rows: readonly T[];
  /** One `role="row"`, of the same height as each other. `index` is for `aria-rowindex`: the head is 1. */
  readonly children: (row: T, index: number) => ComponentChildren;
}

/** The rows that are in the window, as the page is scrolled, with room for the others. */
export function VirtualRows<T>({ rows, children }: Props<T>) {
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ from: 0, count: 30, height: 32 });

  useLayoutEffect(() => {
    const look = () => {
      const element = box.current;
      if (element === null) return;
      const height = element.firstElementChild?.getBoundingClientRect().height || 32;
      const above = Math.max(0, -element.getBoundingClientRect().top);
      const from = Math.max(0, Math.floor(above / height) - SPARE);
      const count = Math.ceil(innerHeight / height) + 2 * SPARE;
      setView((old) =>
        old.from === from && old.count === count && old.height === height ? old : { from, count, height },
      );
    };
    look();
    addEventListener("scroll", look, { passive: true });
    addEventListener("resize", look);
    return () => {
      removeEventListener("scroll", look);
      removeEventListener("resize", look);
    };
  }, [rows.length]);

  const from = Math.min(view.from, Math.max(0, rows.length - view.count));
  const shown = rows.slice(from, from + view.count);
  const below = rows.length - from - shown.length;
  return (
    <div
      ref={box}
      role="rowgroup"
      style={{ paddingTop: `${from * view.height}px`, paddingBottom: `${below * view.height}px` }}
    >
      {shown.map((row, at) => children(row, from + at + 2))}
    </div>
  );
}
