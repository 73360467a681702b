import { DAY_MS, MINUTE_MS } from "./clock.ts";

/**
 * Converts wall-clock times of license servers between IANA zones and UTC. Offsets are cached per quarter of
 * an hour: a reading with 50,000 checkouts needs 50,000 offsets, and Temporal takes microseconds for each.
 */

const QUARTER_MS = 900_000;
const MAX_CACHED = 20_000;

const offsets = new Map<string, Map<number, number>>();

export function isZone(timeZone: string): boolean {
  try {
    new Intl.DateTimeFormat("en-US", { timeZone });
    return true;
  } catch {
    return false;
  }
}

export function hostZone(): string {
  return Temporal.Now.timeZoneId();
}

/** Returns the zone's offset from UTC in ms (east is positive). Throws RangeError for an unknown zone. */
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

/** Returns the zone's wall-clock time, as the ms of a UTC time with the same fields. */
export function wallClock(zone: string, epochMs: number): number {
  return epochMs + offsetAt(zone, epochMs);
}

/** Formats a time in the zone: `2026-10-01 07:00`. */
export function dateTime(zone: string, epochMs: number): string {
  return new Date(wallClock(zone, epochMs)).toISOString().slice(0, 16).replace("T", " ");
}

/**
 * Returns the instant of a wall-clock time, see {@link wallClock}. If the time occurs twice (clocks set
 * back), returns the first instant. If it does not exist (clocks set forward), uses the offset before the
 * change.
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
 * Returns the second instant with the wall-clock time of `first`; null except in an hour that occurs twice.
 */
export function secondOccurrence(zone: string, first: number): number | null {
  const wall = wallClock(zone, first);
  const second = wall - offsetAt(zone, wall + DAY_MS);
  return second > first && wallClock(zone, second) === wall ? second : null;
}

/** Converts an existing date like {@link fromWallClock}. `month` is 1–12. */
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

/** Returns the last millisecond of a day in the zone. */
export function endOfDay(zone: string, year: number, month: number, day: number): number {
  return fromWallClock(zone, utc(year, month, day + 1)) - 1;
}

/** Reports whether the calendar has this day (month 1–12). */
export function isDate(year: number, month: number, day: number): boolean {
  if (month < 1 || month > 12 || day < 1 || day > 31) return false;
  const date = new Date(utc(year, month, day));
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
}

/**
 * Reports whether an ISO 8601 text begins with an existing day. JavaScript's parser turns February 30 into
 * March 2.
 */
export function beginsWithDate(text: string): boolean {
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)/.exec(text) ?? [];
  return day !== undefined && isDate(Number(year), Number(month), Number(day));
}

/** Returns 0 for Sunday … 6 for Saturday. */
export function weekdayOf(year: number, month: number, day: number): number {
  return new Date(utc(year, month, day)).getUTCDay();
}

/** Works like Date.UTC with month 1–12, but does not read years below 100 as 19xx. */
function utc(year: number, month: number, day: number, hour = 0, minute = 0, second = 0, ms = 0): number {
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  date.setUTCHours(hour, minute, second, ms);
  return date.getTime();
}

/** Maximum difference between clocks that agree: tools print minutes, and polls take time. */
const TOLERANCE_MS = 3 * MINUTE_MS;
/** Zone offsets in minutes that are not whole hours, including daylight saving time (tz database 2025b). */
const ODD_OFFSETS = new Set([-570, -210, -150, 210, 270, 330, 345, 390, 525, 570, 630, 765, 825]);

/** Times from one poll, epoch ms. */
interface PollClocks {
  /** The server's clock, read in `zone`; null if not printed, or not the server's. */
  readonly reportTime: number | null;
  /** Latest start of a checkout by the server's clock, read in `zone`. */
  readonly latestStart: number | null;
  /** When this host sent the query, and when it received the answer. */
  readonly askedAt: number;
  readonly answeredAt: number;
  /** The configured zone of the server. */
  readonly zone: string;
}

/**
 * `zone`: the server's times are ahead by a multiple of 15 minutes, as if from another zone. `clock`: by
 * another amount. `future`: a checkout starts in the future, although the server's clock is right or not
 * printed. `ahead` is ms; negative means behind.
 */
export type ClockSkew =
  | { readonly kind: "zone"; readonly ahead: number; readonly utcOffset: string }
  | { readonly kind: "clock"; readonly ahead: number }
  | { readonly kind: "future"; readonly ahead: number };

/** Compares a poll's times with this host's clock; null if they agree. */
export function clockSkew(clocks: PollClocks): ClockSkew | null {
  const { reportTime, latestStart, askedAt, answeredAt, zone } = clocks;
  const ahead = reportTime === null ? 0 : outside(reportTime, askedAt, answeredAt);
  if (Math.abs(ahead) > TOLERANCE_MS) {
    const quarters = Math.round(ahead / QUARTER_MS) * QUARTER_MS;
    const offset = offsetAt(zone, answeredAt) + quarters;
    if (quarters === 0 || Math.abs(ahead - quarters) > TOLERANCE_MS || !isInUse(offset))
      return { kind: "clock", ahead };
    return { kind: "zone", ahead: quarters, utcOffset: printOffset(offset) };
  }
  if (latestStart === null || latestStart - answeredAt <= TOLERANCE_MS) return null;
  return { kind: "future", ahead: latestStart - answeredAt };
}

/**
 * Minimum number of polls with new checkouts. One poll proves nothing: after an outage, new checkouts may
 * be old.
 */
const ENOUGH_POLLS = 5;
/**
 * Maximum interval: with longer gaps between polls, a checkout's age cannot show a difference of 15
 * minutes.
 */
const LONGEST_INTERVAL_MS = 10 * MINUTE_MS;

/**
 * Returns the zone that a server's new checkouts suggest. In the right zone, a new checkout is at most as
 * old as the gap between two polls. `least` is the age of the youngest new checkout when it was first seen,
 * in ms. `polls` is the number of polls with new checkouts. Returns null if the configured zone fits, or if
 * the polls prove nothing.
 */
export function zoneSkewByAges(
  { least, polls }: { readonly least: number; readonly polls: number },
  { intervalMs, zone, now }: { readonly intervalMs: number; readonly zone: string; readonly now: number },
): ClockSkew | null {
  if (polls < ENOUGH_POLLS || intervalMs > LONGEST_INTERVAL_MS) return null;
  const quarters = Math.floor((least + TOLERANCE_MS) / QUARTER_MS) * QUARTER_MS;
  const offset = offsetAt(zone, now) - quarters;
  if (quarters === 0 || least - quarters > intervalMs + TOLERANCE_MS || !isInUse(offset)) return null;
  return { kind: "zone", ahead: -quarters, utcOffset: printOffset(offset) };
}

/**
 * Reports whether any zone has this offset. Otherwise a clock that is 15 minutes off would look like another
 * zone.
 */
function isInUse(offset: number): boolean {
  const minutes = offset / MINUTE_MS;
  return (minutes % 60 === 0 && minutes >= -720 && minutes <= 840) || ODD_OFFSETS.has(minutes);
}

/** Returns how far a time with minute precision lies outside a span. */
function outside(time: number, from: number, to: number): number {
  const begin = Math.floor(from / MINUTE_MS) * MINUTE_MS;
  return time < begin ? time - begin : time > to ? time - to : 0;
}

/** Formats an offset: `UTC+05:30`. */
function printOffset(ms: number): string {
  const minutes = Math.abs(ms) / MINUTE_MS;
  const two = (value: number) => String(Math.floor(value)).padStart(2, "0");
  return `UTC${ms < 0 ? "-" : "+"}${two(minutes / 60)}:${two(minutes % 60)}`;
}
