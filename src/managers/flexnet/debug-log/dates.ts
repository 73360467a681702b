import { DAY_MS } from "../../../domain/time/clock.ts";
import { isDate, wallClock } from "../../../domain/time/zone.ts";
import type { FirstDay } from "../../debug-log/debug-log.ts";
import { DAY_SECONDS } from "../../debug-log/to-utc.ts";

/** Matches ` 1:56:00 (lmgrd) …`, also with a date before it or a malformed time. */
const HEAD =
  /^\s*(?:(\d{4})[-/](\d\d?)[-/](\d\d?)[T ]+|(\d\d?)[-/](\d\d?)[-/](\d{4})[T ]+)?(\d[\w.,+-]*:[\w:.,+-]*)\s+\(([^()]+)\) ?/;
const TIME = /^(\d\d?):(\d\d):(\d\d)(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?$/;

/** Parses `[date] H:MM:SS (daemon) `; null for other lines. */
export function readHead(line: string) {
  const found = HEAD.exec(line);
  if (found === null) return null;
  const [whole, y1, m1, d1, m2, d2, y2, time = "", daemon = ""] = found;
  const parts = TIME.exec(time);
  return {
    /** Second of the day; -1 if the time is malformed, e.g. `12:49:3a9`. */
    second: parts === null ? -1 : secondOf(parts),
    /** Day printed before the time (lmgrd with -datestamp), in days since 1970-01-01; null = none. */
    day: (y1 ?? y2) === undefined ? null : dayOf(Number(y1 ?? y2), Number(m1 ?? m2), Number(d1 ?? d2)),
    daemon,
    message: whole.length,
  };
}

function secondOf([, hours, minutes, seconds]: RegExpExecArray): number {
  const [hour, minute, second] = [Number(hours), Number(minutes), Number(seconds)];
  if (hour > 23 || minute > 59 || second > 60) return -1;
  return Math.min(hour * 3600 + minute * 60 + second, DAY_SECONDS - 1);
}

/** Converts a date to days since 1970-01-01; null if the date is impossible or outside 1990–2200. */
function dayOf(year: number, month: number, day: number): number | null {
  if (!(year >= 1990 && year <= 2200) || !isDate(year, month, day)) return null;
  return Date.UTC(year, month - 1, day) / DAY_MS;
}

const MONTHS = "JanFebMarAprMayJunJulAugSepOctNovDec";
const TIMESTAMP = /^TIMESTAMP (\d\d?)\/(\d\d?)\/(\d{4})\b/;
const HEADER = /^FLEX(?:net|lm)? .* started on .*\((\d\d?)\/(\d\d?)\/(\d{4})\)\s*$/i;
/** Matches `Start-Date: Fri Jul 27 2018 15:49:10 Eastern Daylight Time`; the zone may be in any language. */
const CLOCK =
  /^(?:\([^)]*\) )?(?:Start-Date|(?:Server's System Date and )?Time): +[A-Z][a-z]{2} ([A-Z][a-z]{2}) +(\d\d?) (\d{4}) (\d\d?):(\d\d):(\d\d)(?: |$)/;
/**
 * Maximum difference between the time of a line and a time stated in that line. With a larger difference,
 * the stated time belongs to a past event.
 */
const CLOCK_SLACK_SECONDS = 120;

/**
 * Returns the date that a message states for its own line. `header`: lmgrd started. `clock`: date in words.
 */
export function printedDate(text: string, from: number, second: number) {
  const message = text.slice(from);
  const stamp = TIMESTAMP.exec(message) ?? HEADER.exec(message);
  if (stamp !== null) {
    const day = dayOf(Number(stamp[3]), Number(stamp[1]), Number(stamp[2]));
    const kind = message.startsWith("TIMESTAMP") ? "timestamp" : "header";
    return day === null ? null : ({ kind, day } as const);
  }
  const clock = CLOCK.exec(message);
  if (clock === null) return null;
  const month = MONTHS.indexOf(clock[1] ?? "?");
  const day = dayOf(Number(clock[3]), month / 3 + 1, Number(clock[2]));
  if (day === null || month % 3 !== 0) return null;
  const stated = Number(clock[4]) * 3600 + Number(clock[5]) * 60 + Number(clock[6]);
  return Math.abs(stated - second) <= CLOCK_SLACK_SECONDS ? ({ kind: "clock", day } as const) : null;
}

const HALF_DAY = DAY_SECONDS / 2;
/** Maximum step back of a clock that a daylight saving change can explain. */
const DOUBT_SECONDS = 2 * 3600;
/**
 * Maximum distance from midnight of lines that may be out of order: a line from before midnight may appear
 * after the first lines of the next day.
 */
const STRAGGLE_SECONDS = 600;

/**
 * Tracks the day of a debug log, whose lines contain only times. A time that falls by more than half a day means a
 * midnight. Smaller falls come from clocks that were set (also back to winter time) or from several daemons writing
 * at once. Printed dates correct the result. Days are counted from 1970-01-01 in the server's zone.
 */
export function createLogDates(startDay: number, startSecond = -1) {
  const dates = {
    day: startDay,
    second: startSecond,
    /**
     * True after a step back of several hours, but less than half a day. Clocks are rarely set by hours, so
     * a day without lines may precede this line. The next printed date shows whether it does.
     */
    inDoubt: false,
    /** Returns the day of a line at this second of the day, and advances to that line. */
    dayOf(next: number): number {
      const before = dates.second;
      // A line that was written just before midnight but stored just after it still belongs to the previous day.
      const isLate = before < STRAGGLE_SECONDS && next >= DAY_SECONDS - STRAGGLE_SECONDS;
      if (before !== -1 && isLate) return dates.day - 1;
      dates.second = next;
      if (before === -1) return dates.day;
      if (before - next > HALF_DAY) {
        dates.day++;
        dates.inDoubt = false;
      } else if (before - next > DOUBT_SECONDS) dates.inDoubt = true;
      return dates.day;
    },
  };
  return dates;
}

export function createFirstDay(zone: string): FirstDay {
  const dates = createLogDates(0);
  let found: number | null = null;
  return {
    line(text) {
      if (found !== null) return true;
      const head = readHead(text);
      if (head === null || head.second === -1) return false;
      const day = dates.dayOf(head.second);
      const printed = head.day ?? printedDate(text, head.message, head.second)?.day;
      if (printed !== undefined) found = printed - day;
      return found !== null;
    },
    result(lastWrite) {
      if (found !== null) return { day: found, inferred: false };
      const local = wallClock(zone, lastWrite) / 1000;
      const second = Math.max(0, dates.second);
      // The last line is at most as new as the file; allow some slack for different clocks.
      const lastDay = Math.floor((local + 300 - second) / DAY_SECONDS);
      return { day: lastDay - dates.day, inferred: true };
    },
  };
}
