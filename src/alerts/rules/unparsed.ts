import type { Finding } from "./rule.ts";

/** Unknown lines that stay for so long are what is usual from then on. */
const UNPARSED_LAST_MS = 24 * 3_600_000;

/**
 * Holds the unknown lines of a good reading against what is usual; the first reading makes the usual (null). Without
 * any, none is usual from then on. Pure.
 */
export function compareUnparsed(
  lines: number,
  before: number | null,
): { readonly usual: number; readonly level: 0 | 1 } {
  const usual = lines === 0 ? 0 : (before ?? lines);
  return { usual, level: lines > usual ? 1 : 0 };
}

/** When an alert that fired at `startedAt` is over, whatever the lines are by then: everybody has got used to them. */
export function unparsedUsualAt(startedAt: number): number {
  return startedAt + UNPARSED_LAST_MS;
}

export function unparsedFinding(server: string, lines: number, usual: number): Finding {
  return {
    severity: "info",
    message: `${lines} lines of what ${server} says are not understood; it was ${usual}`,
    value: lines,
    threshold: usual,
  };
}
