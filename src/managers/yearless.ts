import { DAY_MS, MINUTE_MS } from "../domain/time/clock.ts";
import { isDate, localToUtc, wallClock, weekdayOf } from "../domain/time/zone.ts";

/**
 * Reads times that are printed without a year. `now` is the reference until the output prints its own time.
 * Times may be up to `aheadMs` after the reference, because clocks differ and the server's zone may be
 * ahead of the tool's zone.
 */
export function createYearlessTimes(zone: string, now: number, aheadMs: number, yearsBack: number) {
  let reference = now;
  /**
   * UTC midnights by weekday, month and day; null if the offset changes on that day. The midnights are
   * cached, because a report has tens of thousands of times but few days.
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
    setReference(epochMs: number): void {
      reference = epochMs;
      midnights = [];
    },
    /**
     * Returns the latest time that is not too far ahead, or null. `weekday`: 0 is Sunday, null = not printed.
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

/** Returns the time of a date in a year; null if the date does not exist or has another weekday. */
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
