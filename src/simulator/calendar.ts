import { DAY_MS, HOUR_MS } from "../domain/time/clock.ts";
import { fromWallClock, wallClock } from "../domain/time/zone.ts";

/**
 * Time on Mondays at which a simulated week begins. Nobody works and no job runs then, so each week can be
 * simulated separately.
 */
const WEEK_STARTS = 4 * HOUR_MS;
/** The first Monday, 1970-01-05, in days since 1970-01-01. */
const FIRST_MONDAY = 4;

export interface SiteClock {
  readonly zone: string;
  /** How far the staff's week is ahead of the real week, in ms. For example, a demo on a Sunday shows a Tuesday. */
  readonly ahead: number;
}

/** From Monday 04:00 to Monday 04:00 by the staff's clock. */
export interface Week {
  readonly index: number;
  readonly startsAt: number;
  readonly endsAt: number;
  /** Midnights at the start of Monday … Sunday. */
  readonly midnights: readonly number[];
}

/** Returns the week with an index. Throws RangeError if the zone is unknown. */
export function weekOf({ zone, ahead }: SiteClock, index: number): Week {
  const monday = FIRST_MONDAY + index * 7;
  const instant = (day: number, ms: number) => fromWallClock(zone, (monday + day) * DAY_MS + ms) - ahead;
  return {
    index,
    startsAt: instant(0, WEEK_STARTS),
    endsAt: instant(7, WEEK_STARTS),
    midnights: [0, 1, 2, 3, 4, 5, 6].map((day) => instant(day, 0)),
  };
}

export function weekAt(clock: SiteClock, instant: number): Week {
  const day = Math.floor((wallClock(clock.zone, instant + clock.ahead) - WEEK_STARTS) / DAY_MS);
  const week = weekOf(clock, Math.floor((day - FIRST_MONDAY) / 7));
  if (instant < week.startsAt) return weekOf(clock, week.index - 1);
  if (instant >= week.endsAt) return weekOf(clock, week.index + 1);
  return week;
}

/** Returns the date `days` after the Monday of a week, as `YYYY-MM-DD`. */
export function dateOf(weekIndex: number, days: number): string {
  return new Date((FIRST_MONDAY + weekIndex * 7 + days) * DAY_MS).toISOString().slice(0, 10);
}

/**
 * Returns how far the staff's week must be ahead to show the wanted time (ms since Monday 00:00) now. If
 * `wanted` is null, chooses the smallest move that shows working hours.
 */
export function aheadFor(zone: string, now: number, wanted: number | null): number {
  const sinceMonday = modulo(wallClock(zone, now) - FIRST_MONDAY * DAY_MS, 7 * DAY_MS);
  if (wanted !== null) return nearest(wanted - sinceMonday, 7 * DAY_MS);
  const hour = (sinceMonday % DAY_MS) / HOUR_MS;
  const hours = hour >= 9.5 && hour < 16 ? 0 : nearest(10.5 * HOUR_MS - (sinceMonday % DAY_MS), DAY_MS);
  const day = Math.floor(modulo(sinceMonday + hours, 7 * DAY_MS) / DAY_MS);
  if (day < 5) return hours;
  return hours + (day === 5 ? -DAY_MS : DAY_MS);
}

function modulo(value: number, by: number): number {
  return ((value % by) + by) % by;
}

function nearest(way: number, circle: number): number {
  const ahead = modulo(way, circle);
  return ahead > circle / 2 ? ahead - circle : ahead;
}
