import { fromWallClock, secondOccurrence, wallClock } from "../../../domain/time/zone.ts";
import type { FirstDay } from "../../debug-log/debug-log.ts";
import { createHeadReader, DAY_SECONDS, isDull, printedDate } from "./head.ts";

/**
 * The days of a debug log, whose lines print times alone. A midnight is a time that falls by more than half a day:
 * smaller falls are clocks that were set (also back to winter time) or daemons that write in turns. Printed dates
 * correct what that cannot know. Days are counted from 1970-01-01, in the server's zone.
 */
export interface LogDates {
  /** Day of a line at this second of the day. The line after it goes on from here. */
  dayOf(second: number): number;
  /** The day on which the line stands that was read last. */
  day: number;
  readonly second: number;
  /**
   * The time fell by hours, but not by half a day: clocks are not set by hours, so a day without lines may lie before
   * this line. The next printed date tells.
   */
  inDoubt: boolean;
}

const HALF_DAY = DAY_SECONDS / 2;
/** No clock change moves a clock back by more. */
const DOUBT_SECONDS = 2 * 3600;
/** A line this close to midnight may come late, behind the first ones of the next day. */
const STRAGGLE_SECONDS = 600;

export function createLogDates(startDay: number, startSecond = -1): LogDates {
  const dates = {
    day: startDay,
    second: startSecond,
    inDoubt: false,
    dayOf(next: number) {
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

const DAY_MS = 86_400_000;
/**
 * Days and seconds to epoch ms. The hour that occurs twice when clocks are set back is told apart by the order of the
 * lines: what would lie before the line in front of it by more than half of what comes again (an hour; on Lord Howe
 * half of one) is the second time around.
 */
export function createToUtc(zone: string): (day: number, second: number) => number {
  let cachedDay = Number.NaN;
  let midnight = 0;
  /** The day has no change of offset: seconds can be added. */
  let even = false;
  /** On this day the hour that comes again has begun. */
  let repeated = false;
  let latest = Number.NEGATIVE_INFINITY;

  const utcOf = (day: number, second: number) => fromWallClock(zone, day * DAY_MS + second * 1000);

  return (day, second) => {
    if (day !== cachedDay) {
      cachedDay = day;
      repeated = false;
      midnight = utcOf(day, 0);
      even = utcOf(day + 1, 0) - midnight === DAY_MS;
    }
    let at = even ? midnight + second * 1000 : utcOf(day, second);
    const again = even ? null : secondOccurrence(zone, at);
    if (again !== null && at < latest - (again - at) / 2 && again - latest < DAY_MS) repeated = true;
    if (again !== null && repeated) at = again;
    if (at > latest) latest = at;
    return at;
  };
}

export function createFirstDay(zone: string): FirstDay {
  const { head, read } = createHeadReader();
  const dates = createLogDates(0);
  let found: number | null = null;
  return {
    line(text) {
      if (found !== null) return true;
      if (!read(text) || head.second === -1) return false;
      const day = dates.dayOf(head.second);
      const dull = isDull(text, head.message);
      const printed = head.day ?? (dull ? null : printedDate(text, head.message, head.second)?.day) ?? null;
      if (printed !== null) found = printed - day;
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
