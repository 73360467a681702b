import type { Reach } from "./read.ts";
import { hourEnd, hourStart } from "./spans.ts";

/**
 * A range that reaches past the samples, to times of which hours are left, is widened to whole hours. Of times before
 * all history nothing is left to widen to.
 */
export function reachedRange(
  { start, end }: { readonly start: number; readonly end: number },
  { samplesFrom, rollupsFrom }: Reach,
): { readonly start: number; readonly end: number; readonly byHours: boolean } {
  const hoursAlone = samplesFrom !== null && rollupsFrom !== null && rollupsFrom < samplesFrom;
  if (!hoursAlone || start >= samplesFrom || end <= rollupsFrom) return { start, end, byHours: false };
  return { start: hourStart(start), end: end <= samplesFrom ? hourEnd(end) : end, byHours: true };
}
