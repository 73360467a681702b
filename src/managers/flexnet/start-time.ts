import { isDate, localToUtc, wallClock, weekdayOf } from "../../domain/time/zone.ts";
import { createDigits } from "../scan.ts";

/** Resolves the year-less start times of one output. */
export interface StartTimes {
  /** The report's own clock, from a banner: the reference from here on. */
  setReference(epochMs: number): void;
  /**
   * Reads `Fri 10/20 16:44` (also `Fri 10/20/17 16:44`) at `from`: epoch ms, null when no year near the report has
   * that date on that weekday, undefined when no start time stands there. {@link end} is set behind it.
   */
  read(text: string, from: number): number | null | undefined;
  end: number;
}

const REPORT = /^(?:sun|mon|tue|wed|thu|fri|sat)\s+(\d{1,2})\/(\d{1,2})\/(\d{4})\s+(\d{1,2}):(\d{2})$/i;
const WEEKDAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const WEEKDAY_CODES = new Map(WEEKDAYS.map((name, index) => [packed(name, 0), index]));

/** A server may stand in a zone ahead of the tool's host, and its clock may be off. */
const AHEAD_MS = 26 * 3_600_000;
/** Seven years back some other year always has the date on that weekday: a far match is an invention. */
const YEARS_BACK = 2;
const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

/**
 * A date of the output resolved for all its minutes: the UTC of its midnight when the day has 24 hours and lies
 * wholly before the latest possible start; null when it must be looked at minute by minute.
 */
interface ResolvedDay {
  readonly midnight: number | null;
}

export function createStartTimes(zone: string, now: number): StartTimes {
  let reference = now;
  let referenceYear = yearOf(zone, now);
  /** By weekday, month and day: a report has tens of thousands of times and a few days. */
  const days: (ResolvedDay | undefined)[] = [];

  function resolve(weekday: number, month: number, day: number, minutes: number): number | null {
    for (let year = referenceYear + 1; year >= referenceYear - YEARS_BACK; year--) {
      const time = inYear(year, weekday, month, day, minutes);
      if (time !== null && time <= reference + AHEAD_MS) return time;
    }
    return null;
  }

  function inYear(year: number, weekday: number, month: number, day: number, minutes: number): number | null {
    if (!isDate(year, month, day) || weekdayOf(year, month, day) !== weekday) return null;
    return localToUtc(zone, year, month, day, Math.floor(minutes / 60), minutes % 60);
  }

  function resolveDay(weekday: number, month: number, day: number): ResolvedDay {
    const first = resolve(weekday, month, day, 0);
    const last = resolve(weekday, month, day, 24 * 60 - 1);
    const whole = first !== null && last !== null && last - first === DAY_MS - MINUTE_MS;
    return { midnight: whole ? first : null };
  }

  const digits = createDigits();
  const self: StartTimes = {
    end: 0,
    setReference(epochMs) {
      reference = epochMs;
      referenceYear = yearOf(zone, epochMs);
      days.length = 0;
    },
    read(text, from) {
      const weekday = WEEKDAY_CODES.get(packed(text, from));
      if (weekday === undefined || text.charCodeAt(from + 3) !== SPACE) return undefined;
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
      if (year !== null) return inYear(year, weekday, month, day, minutes);
      if (month > 12 || day > 31) return null;
      const key = (weekday * 13 + month) * 32 + day;
      let resolved = days[key];
      if (resolved === undefined) {
        resolved = resolveDay(weekday, month, day);
        days[key] = resolved;
      }
      if (resolved.midnight !== null) return resolved.midnight + minutes * MINUTE_MS;
      return resolve(weekday, month, day, minutes);
    },
  };
  return self;
}

/** `Fri 10/20/2017 17:02` in the zone → epoch ms; null when the text is none (some outputs have `10/6/XXXX`). */
export function parseReportTime(text: string, zone: string): number | null {
  const found = REPORT.exec(text);
  if (found === null) return null;
  const [month = 0, day = 0, year = 0, hour = 0, minute = 0] = found.slice(1).map(Number);
  if (!isDate(year, month, day) || hour > 23 || minute > 59) return null;
  return localToUtc(zone, year, month, day, hour, minute);
}

const SPACE = 0x20;
const SLASH = 0x2f;
const COLON = 0x3a;

/** Three letters, in any case, as one number. */
function packed(text: string, from: number): number {
  return (
    ((text.charCodeAt(from) | 0x20) << 16) |
    ((text.charCodeAt(from + 1) | 0x20) << 8) |
    (text.charCodeAt(from + 2) | 0x20)
  );
}

function yearOf(zone: string, epochMs: number): number {
  return new Date(wallClock(zone, epochMs)).getUTCFullYear();
}
