import { isDate, localToUtc } from "../../domain/time/zone.ts";
import type { YearlessBounds } from "../yearless.ts";

const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

const STATISTICS =
  /^\s*(?:Todays|Recent) Statistics \((?:(\d{1,6})d )?(\d{1,4}):(\d\d):(\d\d)\), init time: [A-Za-z]{3} ([A-Za-z]{3})\s+(\d{1,2}) (\d\d):(\d\d):(\d\d) (\d{4})\s*$/;

/**
 * Usage lines print `MM/DD HH:MM`: a checkout of last December is not one of next December. Nine years, because a 29th
 * of February may be eight years old.
 */
export const USAGE_TIMES: YearlessBounds = { aheadMs: 86_400_000, yearsBack: 8 };

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
