import { wallClock } from "../../../domain/zone.ts";
import { createLogDates } from "./dates.ts";
import { createHeadReader, DAY_SECONDS } from "./head.ts";
import { isDull, printedDate } from "./printed-date.ts";

/**
 * Finds the day of a log's first line, which prints only its time: counts the midnights to the first date that is
 * printed, and goes back by as many. A log without any date ends at the time of its file.
 */
export interface FirstDay {
  /** One line; true once the day is known, and the rest need not be read. */
  line(text: string): boolean;
  /** `lastWrite`: when the file was written last, epoch ms. */
  result(lastWrite: number): { readonly day: number; readonly inferred: boolean };
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
      if (head.day !== null) found = head.day - day;
      else if (!isDull(text, head.message)) {
        const printed = printedDate(text, head.message, head.second);
        if (printed !== null) found = printed.day - day;
      }
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
