import { type Expiry, PERMANENT } from "./reading.ts";
import { endOfDay, isDate } from "./time/zone.ts";

export const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/** Matches `d-mmm-y…`. Text attached to the year, as in `30-Apr-20202`, is reported, not interpreted. */
const DATE = /^\s*(\d{1,2})-([A-Za-z]{3})-(\d{1,4})(.*)$/;

/**
 * Parses an expiry as FlexNet and RLM print it: `31-dec-2025`, `1-jan-0`, `01-jan-0000`, `permanent`,
 * `permanent(no expiration date)`. The year 0 is permanent; two-digit years are 1970–2069. A license is valid
 * through the last millisecond of its day in the server's zone. Returns null for other text: unknown is not
 * permanent.
 */
export function parseExpiry(text: string, zone: string): { expiry: Expiry; rest: string } | null {
  if (/^\s*permanent\b/i.test(text)) return { expiry: PERMANENT, rest: "" };
  const found = DATE.exec(text);
  if (found === null) return null;
  const [, dayText = "", monthText = "", yearText = "", rest = ""] = found;
  const month = MONTHS.indexOf(monthText.toLowerCase()) + 1;
  if (month === 0) return null;
  if (/^0+$/.test(yearText)) return { expiry: PERMANENT, rest: rest.trim() };
  const year = fullYear(yearText);
  const day = Number(dayText);
  if (year === null || !isDate(year, month, day)) return null;
  return { expiry: expiryOn(zone, year, month, day), rest: rest.trim() };
}

/** Creates an expiry at the end of a day in the server's zone. */
export function expiryOn(zone: string, year: number, month: number, day: number): Expiry {
  const expiresOn = `${String(year).padStart(4, "0")}-${String(month).padStart(2, "0")}-${String(day).padStart(2, "0")}`;
  return { expiresOn, expiresAt: endOfDay(zone, year, month, day), permanent: false };
}

/** Formats an expiry as `d-mmm-yyyy` or `permanent`; null if unknown. */
export function printExpiry(expiry: Expiry): string | null {
  if (expiry.permanent) return "permanent";
  if (expiry.expiresOn === null) return null;
  const [year = "", month = "", day = ""] = expiry.expiresOn.split("-");
  return `${day}-${MONTHS[Number(month) - 1]}-${year}`;
}

/** Returns the earlier expiry. Dates come before permanent, permanent before unknown. */
export function earlierExpiry(a: Expiry, b: Expiry): Expiry {
  if (a.expiresAt !== null && b.expiresAt !== null) return a.expiresAt <= b.expiresAt ? a : b;
  if (a.expiresAt !== null) return a;
  if (b.expiresAt !== null) return b;
  return a.permanent ? a : b;
}

function fullYear(text: string): number | null {
  const year = Number(text);
  if (text.length === 4) return year;
  if (text.length === 2) return year < 70 ? 2000 + year : 1900 + year;
  return null;
}
