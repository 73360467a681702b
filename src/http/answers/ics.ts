import { DAY_MS, iso } from "../../domain/time/clock.ts";

/** Calendars as RFC 5545 writes them: all-day events alone. */

interface AllDayEvent {
  /** Stable over time: a calendar program updates the event it knows by this. */
  readonly uid: string;
  /** `YYYY-MM-DD`. */
  readonly day: string;
  readonly summary: string;
  readonly description: string;
  readonly categories: readonly string[];
  /** An absolute URL of ASCII; null = none. */
  readonly url: string | null;
}

interface Calendar {
  readonly name: string;
  /** `-//…//…//EN`, RFC 5545 3.7.3. */
  readonly productId: string;
  /** When this state of the events was known, epoch ms: DTSTAMP of each (3.8.7.2). */
  readonly stamp: number;
  readonly events: readonly AllDayEvent[];
}

/** Octets of a line without its CRLF (3.1). */
const MAX_OCTETS = 75;
const encoder = new TextEncoder();

/** The text of an iCalendar object: CRLF line ends, folded lines, UTF-8 when encoded. */
export function printCalendar({ name, productId, stamp, events }: Calendar): string {
  const lines = [
    "BEGIN:VCALENDAR",
    "VERSION:2.0",
    `PRODID:${escapeText(productId)}`,
    "CALSCALE:GREGORIAN",
    "METHOD:PUBLISH",
    `X-WR-CALNAME:${escapeText(name)}`,
    ...events.flatMap((event) => eventLines(event, stamp)),
    "END:VCALENDAR",
  ];
  return lines.map((line) => `${fold(line)}\r\n`).join("");
}

function eventLines(
  { uid, day, summary, description, categories, url }: AllDayEvent,
  stamp: number,
): string[] {
  return [
    "BEGIN:VEVENT",
    `UID:${escapeText(uid)}`,
    `DTSTAMP:${compact(iso(stamp).slice(0, 19))}Z`,
    `DTSTART;VALUE=DATE:${compact(day)}`,
    // The end is not in it (3.6.1).
    `DTEND;VALUE=DATE:${compact(dayAfter(day))}`,
    `SUMMARY:${escapeText(summary)}`,
    `DESCRIPTION:${escapeText(description)}`,
    ...(categories.length > 0 ? [`CATEGORIES:${categories.map(escapeText).join(",")}`] : []),
    ...(url === null ? [] : [`URL:${url}`]),
    // It blocks no time in the calendar.
    "TRANSP:TRANSPARENT",
    "END:VEVENT",
  ];
}

/**
 * Escapes a TEXT value (3.3.11). Control characters other than TAB are not allowed (3.1) and are left out.
 */
export function escapeText(text: string): string {
  return text
    .replaceAll("\\", "\\\\")
    .replaceAll(";", "\\;")
    .replaceAll(",", "\\,")
    .replace(/\r\n|[\r\n]/g, "\\n")
    .replace(/[\u0000-\u0008\u000b-\u001f\u007f]/g, "")
    .toWellFormed();
}

/** Folds a line at 75 octets: CRLF and a blank go in between characters, never inside one (3.1). */
export function fold(line: string): string {
  let folded = "";
  let octets = 0;
  for (const character of line) {
    const size = encoder.encode(character).length;
    if (octets + size > MAX_OCTETS) {
      folded += "\r\n ";
      octets = 1;
    }
    folded += character;
    octets += size;
  }
  return folded;
}

/** RFC 5545 writes dates and times without `-` and `:`. */
function compact(time: string): string {
  return time.replace(/[-:]/g, "");
}

function dayAfter(day: string): string {
  return new Date(Date.parse(day) + DAY_MS).toISOString().slice(0, 10);
}
