import type { Expiry } from "../reading.ts";
import { DAY_MS } from "../time/time.ts";
import { fromWallClock, offsetAt, wallClock } from "../time/zone.ts";
import { firstWhere } from "./spans.ts";

const QUARTER_MS = 900_000;

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
    const first = Math.floor(at / QUARTER_MS);
    const quarters = Math.floor(next / QUARTER_MS) - first;
    const isSet = (quarter: number) => offsetAt(zone, (first + quarter) * QUARTER_MS) !== offset;
    const change = (first + firstWhere(quarters, isSet)) * QUARTER_MS;
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

/** Midnights of the zone around [start, end). */
export function dayEdges(start: number, end: number, zone: string): number[] {
  const today = Math.floor(wallClock(zone, start) / DAY_MS);
  const midnight = (days: number) => fromWallClock(zone, (today + days) * DAY_MS);
  let day = 0;
  // Where clocks are set at midnight, its local time occurs twice or never.
  while (midnight(day) > start) day--;
  const edges = [midnight(day)];
  while ((edges.at(-1) ?? end) < end) {
    day++;
    const next = midnight(day);
    // A day that a zone skipped (Samoa, 2011-12-30) has no time.
    if (next > (edges.at(-1) ?? 0)) edges.push(next);
  }
  return edges;
}

/**
 * Days of the calendar in the server's zone from today to the last day: 0 = today is the last one, negative = expired.
 * Null where there is no date.
 */
export function daysLeft({ expiresOn }: Expiry, zone: string, now: number): number | null {
  if (expiresOn === null) return null;
  const today = Math.floor(wallClock(zone, now) / DAY_MS);
  return Date.parse(`${expiresOn}T00:00:00Z`) / DAY_MS - today;
}
