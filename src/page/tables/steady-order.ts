import { useRef, useState } from "preact/hooks";
import { type Identified, steady } from "../rows.ts";

/** Who leaves the rows for the button that sorts them finds it still there. */
const LEAVES_MS = 3_000;

/**
 * Rows stay at their place while the pointer or the focus is on them, so that nobody hits another one than they meant.
 * A change of the `question` (filter, sort) orders them anew, and so does `again`.
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
