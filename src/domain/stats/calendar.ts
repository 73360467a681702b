import type { Expiry } from "../reading.ts";
import { DAY_MS } from "../time/clock.ts";
import { offsetAt, wallClock } from "../time/zone.ts";

const inZone = (zone: string, at: number) =>
  Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(zone);

/** A span [from, to) in which a zone keeps one offset (ms east of UTC). */
export interface LocalSpan {
  readonly from: number;
  readonly to: number;
  readonly offset: number;
}

export function localSpans(zone: string, start: number, end: number): LocalSpan[] {
  const spans: LocalSpan[] = [];
  for (let from = start, to = start; from < end; from = to) {
    const change = inZone(zone, from).getTimeZoneTransition("next");
    to = Math.min(change?.epochMilliseconds ?? end, end);
    spans.push({ from, to, offset: offsetAt(zone, from) });
  }
  return spans;
}

/** Returns the zone's midnights around [start, end), or the first moments of days without a midnight. */
export function dayEdges(start: number, end: number, zone: string): number[] {
  let day = inZone(zone, start).startOfDay();
  const edges = [day.epochMilliseconds];
  while (day.epochMilliseconds < end) {
    day = day.add({ days: 1 }).startOfDay();
    edges.push(day.epochMilliseconds);
  }
  return edges;
}

/**
 * Returns the number of calendar days from today to the last day of a license, in the server's zone: 0 on
 * the last day, negative after it. Returns null if the expiry has no date.
 */
export function daysLeft({ expiresOn }: Expiry, zone: string, now: number): number | null {
  if (expiresOn === null) return null;
  const today = Math.floor(wallClock(zone, now) / DAY_MS);
  return Date.parse(`${expiresOn}T00:00:00Z`) / DAY_MS - today;
}
