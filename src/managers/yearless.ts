import { DAY_MS, MINUTE_MS } from "../domain/time/clock.ts";
import { isDate, localToUtc, wallClock, weekdayOf } from "../domain/time/zone.ts";

/**
 * Reads the times of one output that are printed without a year. `now` is the reference until the output names its own
 * clock. They may lie a little ahead of it, because clocks differ and the server may stand in a zone ahead of the tool's.
 */
export function createYearlessTimes(zone: string, now: number, aheadMs: number, yearsBack: number) {
  let reference = now;
  /**
   * By weekday, month and day, because a report has tens of thousands of times and a few days: the UTC of its midnight
   * when all its minutes are of one year and one offset, null when it must be looked at minute by minute.
   */
  let midnights: (number | null | undefined)[] = [];

  function resolve(month: number, day: number, minutes: number, weekday: number | null): number | null {
    const year = new Date(wallClock(zone, reference)).getUTCFullYear();
    for (let back = -1; back <= yearsBack; back++) {
      const time = timeIn(zone, year - back, month, day, minutes, weekday);
      if (time !== null && time <= reference + aheadMs) return time;
    }
    return null;
  }

  function midnightOf(month: number, day: number, weekday: number | null): number | null {
    const first = resolve(month, day, 0, weekday);
    const last = resolve(month, day, 24 * 60 - 1, weekday);
    return first !== null && last === first + DAY_MS - MINUTE_MS ? first : null;
  }

  return {
    /** The report's own clock: the reference from here on. */
    setReference(epochMs: number): void {
      reference = epochMs;
      midnights = [];
    },
    /**
     * The latest such time that does not lie too far ahead of the reference, epoch ms. Null when no year near it has
     * that date on that weekday (0 is Sunday; null when the tool prints none), or the clock knows no such time.
     */
    read(month: number, day: number, minutes: number, weekday: number | null): number | null {
      if (month > 12 || day > 31 || minutes >= 24 * 60) return null;
      const key = ((weekday ?? 7) * 13 + month) * 32 + day;
      const known = midnights[key];
      const midnight = known === undefined ? midnightOf(month, day, weekday) : known;
      midnights[key] = midnight;
      return midnight === null ? resolve(month, day, minutes, weekday) : midnight + minutes * MINUTE_MS;
    },
  };
}

/** The instant of a whole date; null when the calendar has none such, or not on that weekday. */
export function timeIn(
  zone: string,
  year: number,
  month: number,
  day: number,
  minutes: number,
  weekday: number | null,
): number | null {
  if (!isDate(year, month, day)) return null;
  if (weekday !== null && weekdayOf(year, month, day) !== weekday) return null;
  return localToUtc(zone, year, month, day, Math.floor(minutes / 60), minutes % 60);
}
