import type { Expiry } from "../reading.ts";
import { DAY_MS } from "../time/clock.ts";
import { offsetAt, wallClock } from "../time/zone.ts";

const inZone = (zone: string, at: number) =>
  Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(zone);

/** A stretch of time, [from, to), in which a zone keeps one offset (ms east of UTC). */
export interface LocalSpan {
  readonly from: number;
  readonly to: number;
  readonly offset: number;
}

/** Cuts [start, end) where the zone sets its clocks. */
export function localSpans(zone: string, start: number, end: number): LocalSpan[] {
  const spans: LocalSpan[] = [];
  for (let from = start, to = start; from < end; from = to) {
    const change = inZone(zone, from).getTimeZoneTransition("next");
    to = Math.min(change?.epochMilliseconds ?? end, end);
    spans.push({ from, to, offset: offsetAt(zone, from) });
  }
  return spans;
}

/** Midnights of the zone around [start, end); where clocks skip midnight, the day's first moment. */
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
 * Days of the calendar in the server's zone from today to the last day: 0 = today is the last one, negative = expired.
 * Null where there is no date.
 */
export function daysLeft({ expiresOn }: Expiry, zone: string, now: number): number | null {
  if (expiresOn === null) return null;
  const today = Math.floor(wallClock(zone, now) / DAY_MS);
  return Date.parse(`${expiresOn}T00:00:00Z`) / DAY_MS - today;
}
