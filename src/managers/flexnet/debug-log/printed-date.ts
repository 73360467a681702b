import { dayOf } from "./head.ts";

export interface PrintedDate {
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
