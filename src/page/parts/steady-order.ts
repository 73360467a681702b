import { useRef, useState } from "preact/hooks";
import { type Identified, steady } from "../model.ts";

/**
 * Rows stay at their place while the pointer or the focus is on them, so that nobody hits another one than they meant.
 * A change of the `question` (filter, sort) orders them anew, and so does `again`.
 */
export function useSteadyOrder<T extends Identified>(fresh: readonly T[], question: string) {
  const [isHeld, hold] = useState(false);
  const last = useRef<{ readonly question: string; readonly ids: readonly string[] }>({
    question: "",
    ids: [],
  });
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
