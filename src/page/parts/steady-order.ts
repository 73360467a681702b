import { useRef, useState } from "preact/hooks";

interface Identified {
  readonly id: string;
}

/** `fresh` in the order of `before`, new ones at the end; and how many are then at another place than in `fresh`. */
export function steady<T extends Identified>(fresh: readonly T[], before: readonly string[]) {
  const left = new Map(fresh.map((row) => [row.id, row]));
  const rows: T[] = [];
  for (const id of before) {
    const row = left.get(id);
    if (row !== undefined && left.delete(id)) rows.push(row);
  }
  rows.push(...left.values());
  return { rows, moved: rows.filter((row, at) => row.id !== fresh[at]?.id).length };
}

/**
 * Rows stay at their place while the pointer or the focus is on them, so that nobody hits another one than they meant.
 * A change of the `question` (filter, sort) orders them anew, and so does `again`.
 */
export function useSteadyOrder<T extends Identified>(fresh: readonly T[], question: string) {
  const [isHeld, hold] = useState(false);
  const last = useRef<{ readonly question: string; readonly ids: readonly string[] }>({ question: "", ids: [] });
  const isSame = last.current.question === question;
  const shown = isHeld && isSame ? steady(fresh, last.current.ids) : { rows: fresh, moved: 0 };
  last.current = { question, ids: shown.rows.map(({ id }) => id) };
  return {
    ...shown,
    again: () => hold(false),
    events: {
      onPointerEnter: () => hold(true),
      onPointerLeave: () => hold(false),
      onFocusIn: () => hold(true),
      onFocusOut: () => hold(false),
    },
  };
}
