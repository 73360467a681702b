import type { Expiry } from "../reading.ts";
import { wallClock } from "../time/zone.ts";

const DAY_MS = 86_400_000;

/**
 * Days of the calendar in the server's zone from today to the last day: 0 = today is the last one, negative = expired.
 * Null where there is no date.
 */
export function daysLeft({ expiresOn }: Expiry, zone: string, now: number): number | null {
  if (expiresOn === null) return null;
  const today = Math.floor(wallClock(zone, now) / DAY_MS);
  return Date.parse(`${expiresOn}T00:00:00Z`) / DAY_MS - today;
}
