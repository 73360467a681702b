import { hostZone, isDate, localToUtc } from "../domain/time/zone.ts";

const TIME =
  /^(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d)(?::(\d\d)(?:\.\d+)?)?(?:([Zz])|([+-])(\d\d):?(\d\d))?$/;

/** Start of a maintenance window as written: a TOML date-time, or the same as a text. Epoch ms, null when it is neither. Without a zone it is a time of this host's. */
export function parseStart(value: Date | string): number | null {
  const text = typeof value === "string" ? value : isoOf(value);
  const [, year, month, day, hour, minute, second, utc, sign, offsetHour, offsetMinute] =
    TIME.exec(text) ?? [];
  const [y, mo, d, h, mi, s] = [year, month, day, hour, minute, second ?? "0"].map(Number);
  if (y === undefined || mo === undefined || d === undefined) return null;
  if (h === undefined || mi === undefined || s === undefined) return null;
  if (!isDate(y, mo, d) || h > 23 || mi > 59 || s > 59) return null;
  if (utc === undefined && sign === undefined) return localToUtc(hostZone(), y, mo, d, h, mi, s);
  const offset = (Number(offsetHour ?? 0) * 60 + Number(offsetMinute ?? 0)) * 60_000;
  return localToUtc("UTC", y, mo, d, h, mi, s) - (sign === "-" ? -offset : offset);
}

function isoOf(date: Date): string {
  return Number.isNaN(date.getTime()) ? "" : date.toISOString();
}
