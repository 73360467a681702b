import { isDate } from "../../../domain/time/zone.ts";

/** The front of a line: `[date] H:MM:SS (daemon) message`. One object, filled again for every line. */
interface Head {
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

/** ` 1:56:00 (lmgrd) …`: by far most lines. */
const USUAL = /^ *(\d\d?):(\d\d):(\d\d) \(([^)]+)\) ?/;
/** Anything that begins with a date, or whose time is not as it should be. */
const UNUSUAL =
  /^\s*(?:(\d{4})[-/](\d\d?)[-/](\d\d?)[T ]+|(\d\d?)[-/](\d\d?)[-/](\d{4})[T ]+)?(\d[\w:.,+-]*)\s+\(([^()]+)\) ?/;
const TIME = /^(\d\d?):(\d\d):(\d\d)(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?$/;

/** Fills `head` from a line; false when the line has none. */
export function createHeadReader(): { readonly head: Head; read(line: string): boolean } {
  const head: Head = { second: 0, day: null, daemon: "", message: 0 };

  function usual(line: string): boolean {
    const found = USUAL.exec(line);
    const second = found === null ? -1 : secondOf(found);
    if (found === null || second === -1) return false;
    head.second = second;
    head.day = null;
    head.daemon = found[4] ?? "";
    head.message = found[0].length;
    return true;
  }

  function unusual(line: string): boolean {
    const found = UNUSUAL.exec(line);
    if (found === null) return false;
    const [whole, y1, m1, d1, m2, d2, y2, time = "", daemon = ""] = found;
    if (!time.includes(":")) return false;
    const parts = TIME.exec(time);
    head.second = parts === null ? -1 : secondOf(parts);
    head.day = dayOf(Number(y1 ?? y2), Number(m1 ?? m2), Number(d1 ?? d2));
    head.daemon = daemon;
    head.message = whole.length;
    return true;
  }

  return { head, read: (line) => usual(line) || unusual(line) };
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
  return Date.UTC(year, month - 1, day) / 86_400_000;
}

interface PrintedDate {
  /** `header` = lmgrd began; `clock` = the host's date in words. */
  readonly kind: "timestamp" | "header" | "clock";
  /** Days since 1970-01-01. */
  readonly day: number;
}

const MONTHS = "JanFebMarAprMayJunJulAugSepOctNovDec";
const TIMESTAMP = /^TIMESTAMP (\d\d?)\/(\d\d?)\/(\d{4})\b/;
const HEADER = /^FLEX(?:net|lm)? .* started on .*\((\d\d?)\/(\d\d?)\/(\d{4})\)\s*$/i;
/** `Start-Date: Fri Jul 27 2018 15:49:10 Eastern Daylight Time`; the zone may be in any language. */
const CLOCK =
  /(?:Start-Date|Time): +[A-Z][a-z]{2} ([A-Z][a-z]{2}) +(\d\d?) (\d{4}) (\d\d?):(\d\d):(\d\d)(?: |$)/;
/** Other dates in messages are those of things past. */
const CLOCK_SLACK_SECONDS = 120;

/** The date that a message states for its own line; null when it states none. `second` is the line's. */
export function printedDate(text: string, from: number, second: number): PrintedDate | null {
  const message = text.slice(from);
  const stamp = TIMESTAMP.exec(message) ?? HEADER.exec(message);
  if (stamp !== null) {
    const day = dayOf(Number(stamp[3]), Number(stamp[1]), Number(stamp[2]));
    return day === null ? null : { kind: message.startsWith("TIMESTAMP") ? "timestamp" : "header", day };
  }
  const clock = CLOCK.exec(message);
  if (clock === null) return null;
  const month = MONTHS.indexOf(clock[1] ?? "?");
  const day = dayOf(Number(clock[3]), month / 3 + 1, Number(clock[2]));
  if (day === null || month % 3 !== 0) return null;
  const stated = Number(clock[4]) * 3600 + Number(clock[5]) * 60 + Number(clock[6]);
  return Math.abs(stated - second) <= CLOCK_SLACK_SECONDS ? { kind: "clock", day } : null;
}

/** True when the message cannot state a date or the life of a daemon: most that is no event. */
export function isDull(text: string, from: number): boolean {
  switch (text.charCodeAt(from)) {
    case 0x54: // TIMESTAMP
    case 0x46: // FlexNet Licensing
    case 0x45: // EXITING
    case 0x52: // REStarted
    case 0x53: // Server's System Date, Started, Shutting down
      return false;
    case 0x28: // (@acmed-SLOG@) Start-Date: …, Time: …
      return !(text.includes(") Start-Date: ", from) || text.includes(") Time: ", from));
    default:
      return !text.includes(" exited with status", from);
  }
}
