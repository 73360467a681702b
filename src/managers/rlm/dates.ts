import { isDate, localToUtc } from "../../domain/time/zone.ts";

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
  const [day = 0, hour = 0, minute = 0, second = 0, year = 0] = found.slice(6).map(Number);
  if (!isDate(year, month, day) || hour > 23 || minute > 59 || second > 60) return null;
  const [days = 0, hours = 0, minutes = 0, seconds = 0] = found.slice(1, 5).map((text) => Number(text ?? 0));
  const elapsed = days * 86_400 + hours * 3600 + minutes * 60 + seconds;
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
    if (knownFor !== reference()) known.clear();
    knownFor = reference();
    let time = known.get(printed);
    if (time === undefined) {
      const pair = (place: number) => Math.floor(printed / place) % 100;
      time = resolve(pair(1_000_000), pair(10_000), pair(100), pair(1));
      known.set(printed, time);
    }
    return time;
  };
}

/** `Wed Nov  3 12:32:30 2021`, of an instant whose zone offset is already added. */
export function printLongTime(local: number): string {
  // `Wed, 03 Nov 2021 12:32:30 GMT`
  const [weekday = "", day = "", month = "", year = "", time = ""] = new Date(local)
    .toUTCString()
    .split(/,? /);
  return `${weekday} ${month} ${String(Number(day)).padStart(2)} ${time} ${year}`;
}

/** `11/03 12:32`, likewise. */
export function printYearless(local: number): string {
  // `2021-11-03T12:32:30.000Z`
  return new Date(local).toISOString().slice(5, 16).replace("-", "/").replace("T", " ");
}
