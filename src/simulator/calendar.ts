import { fromWallClock, wallClock } from "../domain/zone.ts";

export const MINUTE = 60_000;
export const HOUR = 3_600_000;
export const DAY = 86_400_000;

/** Nobody is at work and no job runs when one week gives way to the next, so that weeks are independent. */
const WEEK_STARTS = 4 * HOUR;
/** 1970-01-05, the first Monday, counted in days since 1970-01-01. */
const FIRST_MONDAY = 4;

/** One week of the site, Monday 04:00 to Monday 04:00 by its wall clock. Times are epoch ms. */
export interface Week {
  /** Weeks since the first Monday of 1970. */
  readonly index: number;
  readonly startsAt: number;
  readonly endsAt: number;
  /** Midnights that begin Monday … Sunday. */
  readonly midnights: readonly number[];
}

/** The week of a number. Throws RangeError on an unknown zone. */
export function weekOf(zone: string, index: number): Week {
  const monday = FIRST_MONDAY + index * 7;
  return {
    index,
    startsAt: wall(zone, monday, WEEK_STARTS),
    endsAt: wall(zone, monday + 7, WEEK_STARTS),
    midnights: [0, 1, 2, 3, 4, 5, 6].map((day) => wall(zone, monday + day, 0)),
  };
}

/** The week that an instant lies in. */
export function weekAt(zone: string, instant: number): Week {
  const day = Math.floor((wallClock(zone, instant) - WEEK_STARTS) / DAY);
  const week = weekOf(zone, Math.floor((day - FIRST_MONDAY) / 7));
  if (instant < week.startsAt) return weekOf(zone, week.index - 1);
  if (instant >= week.endsAt) return weekOf(zone, week.index + 1);
  return week;
}

/** The calendar day `days` after the Monday of a week, as `YYYY-MM-DD`. */
export function dateOf(weekIndex: number, days: number): string {
  return new Date((FIRST_MONDAY + weekIndex * 7 + days) * DAY).toISOString().slice(0, 10);
}

/**
 * An instant as a tool prints it: to the minute of the zone's wall clock, and read back from there. In the hour
 * that occurs twice when clocks are set back that is its first occurrence, because the text cannot say which.
 */
export function asPrinted(zone: string, instant: number): number {
  return fromWallClock(zone, Math.floor(wallClock(zone, instant) / MINUTE) * MINUTE);
}

function wall(zone: string, day: number, ms: number): number {
  return fromWallClock(zone, day * DAY + ms);
}
