import { useRef, useState } from "preact/hooks";
import { type Identified, steady } from "../rows.ts";

/** Time in which the sort button stays after the pointer leaves the rows. */
const LEAVES_MS = 3_000;

/**
 * Keeps rows in place while the pointer or the focus is on them, so that clicks hit the intended row. A
 * changed `question` (filter, sort) and `again` sort them.
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
