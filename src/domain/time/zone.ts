import { DAY_MS } from "./clock.ts";

/**
 * Wall-clock times of license servers, in IANA zones, to UTC and back. Offsets are cached by quarter of an hour, because
 * a reading with 50,000 checkouts asks 50,000 times and Temporal takes microseconds for one.
 */

const QUARTER_MS = 900_000;
const MAX_CACHED = 20_000;

const offsets = new Map<string, Map<number, number>>();

/** True when the runtime knows the zone, e.g. `Europe/Berlin` or `UTC`. */
export function isZone(timeZone: string): boolean {
  try {
    new Intl.DateTimeFormat("en-US", { timeZone });
    return true;
  } catch {
    return false;
  }
}

/** The zone of this host, e.g. `Europe/Berlin`. */
export function hostZone(): string {
  return Temporal.Now.timeZoneId();
}

/** Offset of the zone from UTC at an instant, in ms (east is positive). Throws RangeError on an unknown zone. */
export function offsetAt(zone: string, epochMs: number): number {
  if (zone === "UTC") return 0;
  const bucket = Math.floor(epochMs / QUARTER_MS);
  const ofZone = offsets.getOrInsertComputed(zone, () => new Map());
  const cached = ofZone.get(bucket);
  if (cached !== undefined) return cached;
  const instant = Temporal.Instant.fromEpochMilliseconds(bucket * QUARTER_MS);
  const offset = instant.toZonedDateTimeISO(zone).offsetNanoseconds / 1e6;
  if (ofZone.size >= MAX_CACHED) ofZone.clear();
  ofZone.set(bucket, offset);
  return offset;
}

/** What the clocks of the zone show at an instant, as a number whose UTC fields are theirs: ms since their 1970-01-01. */
export function wallClock(zone: string, epochMs: number): number {
  return epochMs + offsetAt(zone, epochMs);
}

/** `2026-10-01 07:00`, by the clocks of the zone. */
export function dateTime(zone: string, epochMs: number): string {
  return new Date(wallClock(zone, epochMs)).toISOString().slice(0, 16).replace("T", " ");
}

/**
 * The instant at which the clocks of the zone show this, see {@link wallClock}. An hour that occurs twice (clocks set
 * back) gives its first occurrence, a time that does not exist (clocks set forward) is read with the offset before
 * the change.
 */
export function fromWallClock(zone: string, wall: number): number {
  const before = offsetAt(zone, wall - DAY_MS);
  const after = offsetAt(zone, wall + DAY_MS);
  const first = wall - Math.max(before, after);
  if (offsetAt(zone, first) === Math.max(before, after)) return first;
  const again = wall - Math.min(before, after);
  if (offsetAt(zone, again) === Math.min(before, after)) return again;
  return wall - before;
}

/**
 * The second instant at which the clocks of the zone show what they show at `first`; null when there is none, which is so
 * but for the hour that occurs twice.
 */
export function secondOccurrence(zone: string, first: number): number | null {
  const wall = wallClock(zone, first);
  const second = wall - offsetAt(zone, wall + DAY_MS);
  return second > first && wallClock(zone, second) === wall ? second : null;
}

/**
 * The same as {@link fromWallClock} for a wall-clock time in its parts. `month` is 1–12. The caller has checked that the date exists.
 */
export function localToUtc(
  zone: string,
  year: number,
  month: number,
  day: number,
  hour = 0,
  minute = 0,
  second = 0,
  ms = 0,
): number {
  return fromWallClock(zone, utc(year, month, day, hour, minute, second, ms));
}

/** Last millisecond of a calendar day in the zone: a license is valid through the end of its expiry day. */
export function endOfDay(zone: string, year: number, month: number, day: number): number {
  return fromWallClock(zone, utc(year, month, day + 1)) - 1;
}

/** True when the calendar has this day (month 1–12). */
export function isDate(year: number, month: number, day: number): boolean {
  if (month < 1 || month > 12 || day < 1 || day > 31) return false;
  const date = new Date(utc(year, month, day));
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
}

/**
 * True when the calendar has the day that an ISO 8601 text begins with. JavaScript's own parser turns February 30 into
 * March 2.
 */
export function beginsWithDate(text: string): boolean {
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)/.exec(text) ?? [];
  return day !== undefined && isDate(Number(year), Number(month), Number(day));
}

/** 0 = Sunday … 6 = Saturday. */
export function weekdayOf(year: number, month: number, day: number): number {
  return new Date(utc(year, month, day)).getUTCDay();
}

/** Like Date.UTC with month 1–12, without its reading of years below 100 as 19xx. */
function utc(year: number, month: number, day: number, hour = 0, minute = 0, second = 0, ms = 0): number {
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  date.setUTCHours(hour, minute, second, ms);
  return date.getTime();
}
