import { isDate, localToUtc } from "../../domain/zone.ts";

const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAY_MS = 86_400_000;

const STATISTICS =
  /^\s*(?:Todays|Recent) Statistics \((?:(\d{1,6})d )?(\d{1,4}):(\d\d):(\d\d)\), init time: [A-Za-z]{3} ([A-Za-z]{3})\s+(\d{1,2}) (\d\d):(\d\d):(\d\d) (\d{4})\s*$/;

/**
 * The clock of the license server. rlmstat prints no report time as such, but each statistics line says since when
 * it counts and for how long, to the second: `Recent Statistics (00:16:08), init time: Wed Nov  3 12:32:30 2021`
 * was printed at 12:48:38. Undefined when the line is no such line, null when it is one with an impossible date.
 */
export function parseStatistics(line: string, zone: string): number | null | undefined {
  const found = STATISTICS.exec(line);
  if (found === null) return undefined;
  const month = MONTHS.indexOf((found[5] ?? "").toLowerCase()) + 1;
  const [day, hour, minute, second, year] = [6, 7, 8, 9, 10].map((group) => Number(found[group]));
  if (day === undefined || hour === undefined || minute === undefined) return null;
  if (second === undefined || year === undefined) return null;
  if (!isDate(year, month, day) || hour > 23 || minute > 59 || second > 60) return null;
  const elapsed =
    Number(found[1] ?? 0) * 86_400 + Number(found[2]) * 3600 + Number(found[3]) * 60 + Number(found[4]);
  return localToUtc(zone, year, month, day, hour, minute, second) + elapsed * 1000;
}

/**
 * Times without a year (`MM/DD HH:MM`): the latest such time that lies no more than a day after the reference,
 * so that clocks may differ and a checkout of last December is not one of next December. A 29th of February is
 * looked for in up to eight earlier years. Null when the calendar knows no such day or the clock no such time.
 */
export function createYearlessTimes(zone: string, reference: () => number) {
  const known = new Map<number, number | null>();
  let knownFor = Number.NaN;

  const resolve = (month: number, day: number, hour: number, minute: number): number | null => {
    if (hour > 23 || minute > 59) return null;
    const limit = reference() + DAY_MS;
    const thisYear = new Date(limit).getUTCFullYear() + 1;
    for (let year = thisYear; year > thisYear - 10; year--) {
      if (!isDate(year, month, day)) continue;
      const time = localToUtc(zone, year, month, day, hour, minute);
      if (time <= limit) return time;
    }
    return null;
  };

  /** `printed` is the number MMDDHHMM. */
  return (printed: number): number | null => {
    if (knownFor !== reference()) {
      known.clear();
      knownFor = reference();
    }
    let time = known.get(printed);
    if (time === undefined) {
      const pair = (place: number) => Math.floor(printed / place) % 100;
      time = resolve(pair(1_000_000), pair(10_000), pair(100), pair(1));
      known.set(printed, time);
    }
    return time;
  };
}

const WEEKDAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];

/** Wall-clock parts of an instant whose zone offset is already added. */
function parts(local: number) {
  const date = new Date(local);
  const two = (value: number) => String(value).padStart(2, "0");
  return {
    weekday: WEEKDAYS[date.getUTCDay()] ?? "",
    monthName: (MONTHS[date.getUTCMonth()] ?? "").replace(/^./, (letter) => letter.toUpperCase()),
    month: two(date.getUTCMonth() + 1),
    day: date.getUTCDate(),
    time: `${two(date.getUTCHours())}:${two(date.getUTCMinutes())}:${two(date.getUTCSeconds())}`,
    year: date.getUTCFullYear(),
  };
}

/** `Wed Nov  3 12:32:30 2021` */
export function printLongTime(local: number): string {
  const { weekday, monthName, day, time, year } = parts(local);
  return `${weekday} ${monthName} ${String(day).padStart(2)} ${time} ${year}`;
}

/** `11/03 12:32` */
export function printYearless(local: number): string {
  const { month, day, time } = parts(local);
  return `${month}/${String(day).padStart(2, "0")} ${time.slice(0, 5)}`;
}
