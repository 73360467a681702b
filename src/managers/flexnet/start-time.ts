import { isDate, localToUtc, offsetAt, weekdayOf } from "../../domain/zone.ts";

/** Resolves the year-less start times of one output. */
export interface StartTimes {
  /** The report's own clock, from a banner: the reference from here on. */
  setReference(epochMs: number): void;
  /**
   * `Fri 10/20 16:44` (also `Fri 10/20/17 16:44`) → epoch ms, null when no year near the report has that date on
   * that weekday, undefined when the text is no start time.
   */
  resolve(text: string): number | null | undefined;
}

const START =
  /^(sun|mon|tue|wed|thu|fri|sat)\s+(\d{1,2})\/(\d{1,2})(?:\/(\d{4}|\d{2}))?\s+(\d{1,2}):(\d{2})$/i;
const REPORT = /^(?:sun|mon|tue|wed|thu|fri|sat)\s+(\d{1,2})\/(\d{1,2})\/(\d{4})\s+(\d{1,2}):(\d{2})$/i;
const WEEKDAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/** A server may stand in a zone ahead of the tool's host, and its clock may be off. */
const AHEAD_MS = 26 * 3_600_000;
/** Seven years back some other year always has the date on that weekday: a far match is an invention. */
const YEARS_BACK = 2;

export function createStartTimes(zone: string, now: number): StartTimes {
  let reference = now;
  let referenceYear = yearOf(zone, now);
  /** Thousands of checkouts share a few hundred minutes. */
  let cache = new Map<string, number | null | undefined>();

  function compute(text: string): number | null | undefined {
    const found = START.exec(text);
    if (found === null) return undefined;
    const weekday = WEEKDAYS.indexOf((found[1] ?? "").toLowerCase());
    const month = Number(found[2]);
    const day = Number(found[3]);
    const hour = Number(found[5]);
    const minute = Number(found[6]);
    if (hour > 23 || minute > 59) return null;
    const at = (year: number) =>
      isDate(year, month, day) && weekdayOf(year, month, day) === weekday
        ? localToUtc(zone, year, month, day, hour, minute)
        : null;
    if (found[4] !== undefined) return at(fullYear(found[4]));
    for (let year = referenceYear + 1; year >= referenceYear - YEARS_BACK; year--) {
      const time = at(year);
      if (time !== null && time <= reference + AHEAD_MS) return time;
    }
    return null;
  }

  return {
    setReference(epochMs) {
      reference = epochMs;
      referenceYear = yearOf(zone, epochMs);
      cache = new Map();
    },
    resolve(text) {
      const cached = cache.get(text);
      if (cached !== undefined) return cached;
      const time = compute(text);
      if (time !== undefined) cache.set(text, time);
      return time;
    },
  };
}

/** `Fri 10/20/2017 17:02` in the zone → epoch ms; null when the text is none (some outputs have `10/6/XXXX`). */
export function parseReportTime(text: string, zone: string): number | null {
  const found = REPORT.exec(text);
  if (found === null) return null;
  const [month = 0, day = 0, year = 0, hour = 0, minute = 0] = found.slice(1).map(Number);
  if (!isDate(year, month, day) || hour > 23 || minute > 59) return null;
  return localToUtc(zone, year, month, day, hour, minute);
}

function yearOf(zone: string, epochMs: number): number {
  return new Date(epochMs + offsetAt(zone, epochMs)).getUTCFullYear();
}

function fullYear(text: string): number {
  const year = Number(text);
  if (text.length === 4) return year;
  return year < 70 ? 2000 + year : 1900 + year;
}
