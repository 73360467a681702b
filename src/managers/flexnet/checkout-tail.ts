import { execAt, skipBlanks } from "./scan.ts";

/** What stands behind the start time of a checkout. */
export interface CheckoutTail {
  readonly count: number;
  /** `(linger: LEFT)` or `(linger: LEFT / TOTAL)`: the seconds left; 0 is capable of lingering, not lingering. */
  readonly lingerSeconds: number | null;
  readonly pid: number | null;
}

const PLAIN: CheckoutTail = { count: 1, lingerSeconds: null, pid: null };
const PART = /, PID: (\d{1,12})|, (\d{1,9}) licen[sc]es?|,? ?\(linger: (\d{1,12})(?: \/ \d{1,12})?\)/iy;

/** `[, N licenses][ (linger: …)][, PID: P]` in any order, each once, to the end of the line; null otherwise. */
export function parseTail(text: string, from: number): CheckoutTail | null {
  let at = skipBlanks(text, from);
  if (at === text.length) return PLAIN;
  let count: number | null = null;
  let lingerSeconds: number | null = null;
  let pid: number | null = null;
  while (at < text.length) {
    const found = execAt(PART, text, at);
    if (found === null) return null;
    if (found[1] !== undefined && pid === null) pid = Number(found[1]);
    else if (found[2] !== undefined && count === null) count = Number(found[2]);
    else if (found[3] !== undefined && lingerSeconds === null) lingerSeconds = Number(found[3]);
    else return null;
    at = skipBlanks(text, at + found[0].length);
  }
  return count === 0 ? null : { count: count ?? 1, lingerSeconds, pid };
}
