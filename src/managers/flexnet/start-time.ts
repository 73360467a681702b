import { execAt } from "../scan.ts";
import { createYearlessTimes, timeIn } from "../yearless.ts";

const WEEKDAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const START = /(...) (\d{1,2})\/(\d{1,2})(?:\/(\d{4}|\d{2}))? (\d{1,2}):(\d{2})/y;
const REPORT = /^(?:sun|mon|tue|wed|thu|fri|sat)\s+(\d{1,2})\/(\d{1,2})\/(\d{4})\s+(\d{1,2}):(\d{2})$/i;

const AHEAD_MS = 26 * 3_600_000;
/** Seven years back some other year always has the date on that weekday: a far match is an invention. */
const YEARS_BACK = 2;

/** Reads the start times of one output, which have a weekday and nearly always no year. */
export type StartTimes = ReturnType<typeof createStartTimes>;

export function createStartTimes(zone: string, now: number) {
  const times = createYearlessTimes(zone, now, AHEAD_MS, YEARS_BACK);
  const self = {
    /** Index behind the time that was read last. */
    end: 0,
    /** The report's own clock, from a banner: the reference from here on. */
    setReference: times.setReference,
    /**
     * Reads `Fri 10/20 16:44` (also `Fri 10/20/17 16:44`) at `from`: epoch ms, null when no year near the report has
     * that date on that weekday, undefined when no start time stands there.
     */
    read(text: string, from: number): number | null | undefined {
      const found = execAt(START, text, from);
      const weekday = found === null ? -1 : WEEKDAYS.indexOf((found[1] ?? "").toLowerCase());
      if (found === null || weekday === -1) return undefined;
      self.end = START.lastIndex;
      const [month, day, hour, minute] = [
        Number(found[2]),
        Number(found[3]),
        Number(found[5]),
        Number(found[6]),
      ];
      if (hour > 23 || minute > 59) return null;
      const minutes = hour * 60 + minute;
      const year = found[4];
      return year === undefined
        ? times.read(month, day, minutes, weekday)
        : timeIn(zone, fullYear(year), month, day, minutes, weekday);
    },
  };
  return self;
}

function fullYear(printed: string): number {
  const year = Number(printed);
  if (printed.length === 4) return year;
  return year < 70 ? 2000 + year : 1900 + year;
}

/** `Fri 10/20/2017 17:02` in the zone → epoch ms; null when the text is none (some outputs have `10/6/XXXX`). */
export function parseReportTime(text: string, zone: string): number | null {
  const found = REPORT.exec(text);
  if (found === null) return null;
  const [month = 0, day = 0, year = 0, hour = 0, minute = 0] = found.slice(1).map(Number);
  return hour > 23 || minute > 59 ? null : timeIn(zone, year, month, day, hour * 60 + minute, null);
}
