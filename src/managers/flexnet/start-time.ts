import { createDigits } from "../blanks-and-digits.ts";
import { createYearlessTimes, timeIn } from "../yearless.ts";

export interface StartTimes {
  setReference(epochMs: number): void;
  /**
   * Reads `Fri 10/20[/17] 16:44` and sets {@link end}. Null: no near year has this date on this weekday;
   * undefined: other text.
   */
  read(text: string, from: number): number | null | undefined;
  end: number;
}

const REPORT = /^(?:sun|mon|tue|wed|thu|fri|sat)\s+(\d{1,2})\/(\d{1,2})\/(\d{4})\s+(\d{1,2}):(\d{2})$/i;
const WEEKDAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"].map((name) => packed(name, 0));

const AHEAD_MS = 26 * 3_600_000;
/**
 * Number of years to search back for a date with the printed weekday. A longer search could find a wrong
 * year, because within seven years every date falls on every weekday.
 */
const YEARS_BACK = 2;

export function createStartTimes(zone: string, now: number): StartTimes {
  const times = createYearlessTimes(zone, now, AHEAD_MS, YEARS_BACK);
  const digits = createDigits();
  const self: StartTimes = {
    end: 0,
    setReference: times.setReference,
    read(text, from) {
      const weekday = WEEKDAYS.indexOf(packed(text, from));
      if (weekday === -1 || text.charCodeAt(from + 3) !== SPACE) return undefined;
      const month = digits.read(text, from + 4, 2);
      if (month < 0 || text.charCodeAt(digits.end) !== SLASH) return undefined;
      const day = digits.read(text, digits.end + 1, 2);
      if (day < 0) return undefined;
      let year: number | null = null;
      if (text.charCodeAt(digits.end) === SLASH) {
        const yearFrom = digits.end + 1;
        const written = digits.read(text, yearFrom, 4);
        const length = digits.end - yearFrom;
        if (written < 0 || (length !== 2 && length !== 4)) return undefined;
        year = length === 4 ? written : written < 70 ? 2000 + written : 1900 + written;
      }
      if (text.charCodeAt(digits.end) !== SPACE) return undefined;
      const hour = digits.read(text, digits.end + 1, 2);
      if (hour < 0 || text.charCodeAt(digits.end) !== COLON) return undefined;
      const minuteFrom = digits.end + 1;
      const minute = digits.read(text, minuteFrom, 2);
      if (minute < 0 || digits.end !== minuteFrom + 2) return undefined;
      self.end = digits.end;
      if (hour > 23 || minute > 59) return null;
      const minutes = hour * 60 + minute;
      return year === null
        ? times.read(month, day, minutes, weekday)
        : timeIn(zone, year, month, day, minutes, weekday);
    },
  };
  return self;
}

/**
 * Parses `Fri 10/20/2017 17:02` in the zone to epoch ms; null if the text is not a time (some outputs have
 * `10/6/XXXX`).
 */
export function parseReportTime(text: string, zone: string): number | null {
  const found = REPORT.exec(text);
  if (found === null) return null;
  const [month = 0, day = 0, year = 0, hour = 0, minute = 0] = found.slice(1).map(Number);
  return hour > 23 || minute > 59 ? null : timeIn(zone, year, month, day, hour * 60 + minute, null);
}

const SPACE = 0x20;
const SLASH = 0x2f;
const COLON = 0x3a;

function packed(text: string, from: number): number {
  return (
    ((text.charCodeAt(from) | 0x20) << 16) |
    ((text.charCodeAt(from + 1) | 0x20) << 8) |
    (text.charCodeAt(from + 2) | 0x20)
  );
}
