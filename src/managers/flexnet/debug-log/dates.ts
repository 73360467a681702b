import { fromWallClock, wallClock } from "../../../domain/zone.ts";
import { DAY_SECONDS } from "./head.ts";

/**
 * The days of a debug log, whose lines print times alone. A midnight is a time that falls by more than half a day:
 * smaller falls are clocks that were set (also back to winter time) or daemons that write in turns. Printed dates
 * correct what that cannot know. Days are counted from 1970-01-01, in the server's zone.
 */
export interface LogDates {
  /** Day of a line at this second of the day. The line after it goes on from here. */
  dayOf(second: number): number;
  /** A date is printed on a line: answers by how many days the reckoning was behind. */
  anchor(lineDay: number, printed: number): number;
  /** Puts the reckoning on a day: the line that was read last stands on it. */
  set(day: number): void;
  /**
   * The time fell by hours, but not by half a day: clocks are not set by hours, so a day without lines may lie before
   * this line. The next printed date tells.
   */
  readonly inDoubt: boolean;
  settle(): void;
  readonly day: number;
  readonly second: number;
}

const HALF_DAY = DAY_SECONDS / 2;
/** No clock change moves a clock back by more. */
const DOUBT_SECONDS = 2 * 3600;
/** A line this close to midnight may come late, behind the first ones of the next day. */
const STRAGGLE_SECONDS = 600;

export function createLogDates(startDay: number, startSecond = -1): LogDates {
  let day = startDay;
  let second = startSecond;
  let inDoubt = false;
  return {
    dayOf(next) {
      const before = second;
      if (before === -1) {
        second = next;
        return day;
      }
      // Written a moment before midnight, and in the file a moment after: not a day later.
      if (before < STRAGGLE_SECONDS && next >= DAY_SECONDS - STRAGGLE_SECONDS) return day - 1;
      const fall = before - next;
      second = next;
      if (fall > HALF_DAY) {
        day++;
        inDoubt = false;
      } else if (fall > DOUBT_SECONDS) inDoubt = true;
      return day;
    },
    anchor(lineDay, printed) {
      const behind = printed - lineDay;
      day += behind;
      return behind;
    },
    set(known) {
      day = known;
    },
    get inDoubt() {
      return inDoubt;
    },
    settle() {
      inDoubt = false;
    },
    get day() {
      return day;
    },
    get second() {
      return second;
    },
  };
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
    if (even) {
      const at = midnight + second * 1000;
      if (at > latest) latest = at;
      return at;
    }
    const first = utcOf(day, second);
    const again = secondOccurrence(zone, first, day, second);
    if (again !== null && first < latest - (again - first) / 2 && again - latest < DAY_MS) repeated = true;
    const at = again !== null && repeated ? again : first;
    if (at > latest) latest = at;
    return at;
  };
}

/** The later instant with the same wall-clock time, where clocks were set back; null when there is none. */
function secondOccurrence(zone: string, first: number, day: number, second: number): number | null {
  for (const minutes of [30, 60, 120]) {
    const later = first + minutes * 60_000;
    if (wallClock(zone, later) === day * DAY_MS + second * 1000) return later;
  }
  return null;
}
