import { DAY_MS } from "../../../domain/time/clock.ts";
import { isDate, wallClock } from "../../../domain/time/zone.ts";
import type { FirstDay } from "../../debug-log/debug-log.ts";
import { DAY_SECONDS } from "../../debug-log/to-utc.ts";

/** ` 1:56:00 (lmgrd) …`, also with a date before it, and with a malformed time. */
const HEAD =
  /^\s*(?:(\d{4})[-/](\d\d?)[-/](\d\d?)[T ]+|(\d\d?)[-/](\d\d?)[-/](\d{4})[T ]+)?(\d[\w.,+-]*:[\w:.,+-]*)\s+\(([^()]+)\) ?/;
const TIME = /^(\d\d?):(\d\d):(\d\d)(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?$/;

/** The front of a line, `[date] H:MM:SS (daemon) message`; null when the line has none. */
export function readHead(line: string) {
  const found = HEAD.exec(line);
  if (found === null) return null;
  const [whole, y1, m1, d1, m2, d2, y2, time = "", daemon = ""] = found;
  const parts = TIME.exec(time);
  return {
    /** Second of the day; -1 when the time is broken, e.g. `12:49:3a9`. */
    second: parts === null ? -1 : secondOf(parts),
    /** Day printed before the time (lmgrd with -datestamp), in days since 1970-01-01; null = none. */
    day: (y1 ?? y2) === undefined ? null : dayOf(Number(y1 ?? y2), Number(m1 ?? m2), Number(d1 ?? d2)),
    /** As printed. */
    daemon,
    /** Index at which the message begins. */
    message: whole.length,
  };
}

/** Second of the day; -1 when no clock shows that time. */
function secondOf([, hours, minutes, seconds]: RegExpExecArray): number {
  const [hour, minute, second] = [Number(hours), Number(minutes), Number(seconds)];
  if (hour > 23 || minute > 59 || second > 60) return -1;
  return Math.min(hour * 3600 + minute * 60 + second, DAY_SECONDS - 1);
}

/** Days since 1970-01-01 of a date that can be meant; null = it cannot. */
function dayOf(year: number, month: number, day: number): number | null {
  if (!(year >= 1990 && year <= 2200) || !isDate(year, month, day)) return null;
  return Date.UTC(year, month - 1, day) / DAY_MS;
}

const MONTHS = "JanFebMarAprMayJunJulAugSepOctNovDec";
const TIMESTAMP = /^TIMESTAMP (\d\d?)\/(\d\d?)\/(\d{4})\b/;
const HEADER = /^FLEX(?:net|lm)? .* started on .*\((\d\d?)\/(\d\d?)\/(\d{4})\)\s*$/i;
/** `Start-Date: Fri Jul 27 2018 15:49:10 Eastern Daylight Time`; the zone may be in any language. */
const CLOCK =
  /^(?:\([^)]*\) )?(?:Start-Date|(?:Server's System Date and )?Time): +[A-Z][a-z]{2} ([A-Z][a-z]{2}) +(\d\d?) (\d{4}) (\d\d?):(\d\d):(\d\d)(?: |$)/;
/** A stated time that is further from the line's own is that of a past event. */
const CLOCK_SLACK_SECONDS = 120;

/**
 * The date that a message states for its own line; null when it states none. `second` is the line's. `header` = lmgrd
 * began; `clock` = the host's date in words.
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
/** No clock change moves a clock back by more. */
const DOUBT_SECONDS = 2 * 3600;
/** A line written this shortly before midnight may follow the first lines of the next day. */
const STRAGGLE_SECONDS = 600;

/**
 * The days of a debug log, whose lines print times alone. A midnight is a time that falls by more than half a day:
 * smaller falls are clocks that were set (also back to winter time) or daemons that write in turns. Printed dates
 * correct what that cannot know. Days are counted from 1970-01-01, in the server's zone.
 */
export function createLogDates(startDay: number, startSecond = -1) {
  const dates = {
    /** The day of the last line read. */
    day: startDay,
    second: startSecond,
    /**
     * The time fell by hours, but not by half a day: clocks are not set by hours, so a day without lines may lie before
     * this line. The next printed date decides.
     */
    inDoubt: false,
    /** Day of a line at this second of the day. The line after it goes on from here. */
    dayOf(next: number): number {
      const before = dates.second;
      // Written a moment before midnight, and in the file a moment after: not a day later.
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
      // The last line is not younger than the file; a moment of slack for clocks that differ.
      const lastDay = Math.floor((local + 300 - second) / DAY_SECONDS);
      return { day: lastDay - dates.day, inferred: true };
    },
  };
}
