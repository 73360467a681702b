import { offsetAt } from "../time/zone.ts";

const QUARTER_MS = 900_000;
const DAY_MS = 86_400_000;

/** A stretch of time, [from, to), in which a zone keeps one offset (ms east of UTC). */
export interface LocalSpan {
  readonly from: number;
  readonly to: number;
  readonly offset: number;
}

/**
 * Cuts [start, end) where the zone sets its clocks. Zones change at quarters of an hour and never twice a day, so one
 * look a day finds every change.
 */
export function localSpans(zone: string, start: number, end: number): LocalSpan[] {
  const spans: LocalSpan[] = [];
  let from = start;
  let offset = offsetAt(zone, start);
  for (let at = start; at < end; ) {
    const next = Math.min(at + DAY_MS, end);
    if (offsetAt(zone, next) === offset) {
      at = next;
      continue;
    }
    const change = changeBetween(zone, at, next, offset);
    // A change at the very end is the next range's.
    if (change >= end) break;
    spans.push({ from, to: change, offset });
    from = change;
    at = change;
    offset = offsetAt(zone, change);
  }
  if (end > from) spans.push({ from, to: end, offset });
  return spans;
}

/** The first quarter after `at` whose offset differs; the one of `until` does. */
function changeBetween(zone: string, at: number, until: number, offset: number): number {
  let same = Math.floor(at / QUARTER_MS);
  let differs = Math.floor(until / QUARTER_MS);
  while (differs - same > 1) {
    const middle = Math.floor((same + differs) / 2);
    if (offsetAt(zone, middle * QUARTER_MS) === offset) same = middle;
    else differs = middle;
  }
  return differs * QUARTER_MS;
}
