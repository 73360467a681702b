import { isDate } from "../../../domain/zone.ts";
import { isDigit } from "../scan.ts";

/** The front of a line: `[date] H:MM:SS (daemon) message`. One object, filled again for every line. */
export interface Head {
  /** Second of the day; -1 when the time is broken, e.g. `12:49:3a9`. */
  second: number;
  /** Day printed in front of the time (lmgrd with -datestamp), in days since 1970-01-01; null = none. */
  day: number | null;
  /** As printed. */
  daemon: string;
  /** Index at which the message begins. */
  message: number;
}

export const DAY_SECONDS = 86_400;

const SPACE = 0x20;
const COLON = 0x3a;
const OPEN = 0x28;
/** Anything that begins with a date, or whose time is not as it should be. */
const UNUSUAL =
  /^\s*(?:(\d{4})[-/](\d\d?)[-/](\d\d?)[T ]+|(\d\d?)[-/](\d\d?)[-/](\d{4})[T ]+)?(\d[\w:.,+-]*)\s+\(([^()]+)\) ?/;
const TIME = /^(\d\d?):(\d\d):(\d\d)(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?$/;

/** Fills `head` from a line; false when the line has none. */
export function createHeadReader(): { readonly head: Head; read(line: string): boolean } {
  const head: Head = { second: 0, day: null, daemon: "", message: 0 };

  /** ` 1:56:00 (lmgrd) …`: by far most lines. */
  function usual(line: string): boolean {
    let at = 0;
    while (line.charCodeAt(at) === SPACE) at++;
    let hour = line.charCodeAt(at++) - 0x30;
    if (!(hour >= 0 && hour <= 9)) return false;
    if (isDigit(line.charCodeAt(at))) hour = 10 * hour + line.charCodeAt(at++) - 0x30;
    if (line.charCodeAt(at) !== COLON || line.charCodeAt(at + 3) !== COLON) return false;
    const minute = twoDigits(line, at + 1);
    const second = twoDigits(line, at + 4);
    if (hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60) return false;
    if (line.charCodeAt(at + 6) !== SPACE || line.charCodeAt(at + 7) !== OPEN) return false;
    const start = at + 8;
    const end = line.indexOf(")", start);
    if (end <= start) return false;
    // The same daemon writes most lines: its name need not be made again.
    if (end - start !== head.daemon.length || !line.startsWith(head.daemon, start)) {
      head.daemon = line.slice(start, end);
    }
    head.second = Math.min(hour * 3600 + minute * 60 + second, DAY_SECONDS - 1);
    head.day = null;
    head.message = line.charCodeAt(end + 1) === SPACE ? end + 2 : end + 1;
    return true;
  }

  function unusual(line: string): boolean {
    const found = UNUSUAL.exec(line);
    if (found === null) return false;
    const [whole, y1, m1, d1, m2, d2, y2, time = "", daemon = ""] = found;
    if (!time.includes(":")) return false;
    const parts = TIME.exec(time);
    const second = parts === null ? -1 : secondOf(Number(parts[1]), Number(parts[2]), Number(parts[3]));
    head.second = second;
    head.day = dayOf(Number(y1 ?? y2), Number(m1 ?? m2), Number(d1 ?? d2));
    head.daemon = daemon;
    head.message = whole.length;
    return true;
  }

  return { head, read: (line) => usual(line) || unusual(line) };
}

function twoDigits(line: string, at: number): number {
  const ten = line.charCodeAt(at) - 0x30;
  const one = line.charCodeAt(at + 1) - 0x30;
  return ten >= 0 && ten <= 9 && one >= 0 && one <= 9 ? 10 * ten + one : -1;
}

function secondOf(hour: number, minute: number, second: number): number {
  return hour > 23 || minute > 59 || second > 60
    ? -1
    : Math.min(hour * 3600 + minute * 60 + second, DAY_SECONDS - 1);
}

/** Days since 1970-01-01 of a date that can be meant; null = it cannot. */
export function dayOf(year: number, month: number, day: number): number | null {
  if (!(year >= 1990 && year <= 2200) || !isDate(year, month, day)) return null;
  return Date.UTC(year, month - 1, day) / 86_400_000;
}
