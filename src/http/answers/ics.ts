import { DAY_MS, iso } from "../../domain/time/clock.ts";

/** An all-day event of an RFC 5545 calendar. */

interface AllDayEvent {
  /** A calendar program updates the event with the same uid. */
  readonly uid: string;
  /** `YYYY-MM-DD`. */
  readonly day: string;
  readonly summary: string;
  readonly description: string;
  readonly categories: readonly string[];
  /** Absolute ASCII URL or null. */
  readonly url: string | null;
}

interface Calendar {
  readonly name: string;
  /** `-//…//…//EN`, RFC 5545 3.7.3. */
  readonly productId: string;
  /** Time at which the events were known, epoch ms: DTSTAMP of each (3.8.7.2). */
  readonly stamp: number;
  readonly events: readonly AllDayEvent[];
}

/** Octets of a line without its CRLF (3.1). */
const MAX_OCTETS = 75;
const encoder = new TextEncoder();

/** Returns an iCalendar object with CRLF line ends and folded lines. */
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
    // Exclusive (3.6.1).
    `DTEND;VALUE=DATE:${compact(dayAfter(day))}`,
    `SUMMARY:${escapeText(summary)}`,
    `DESCRIPTION:${escapeText(description)}`,
    ...(categories.length > 0 ? [`CATEGORIES:${categories.map(escapeText).join(",")}`] : []),
    ...(url === null ? [] : [`URL:${url}`]),
    // The event blocks no time in the calendar.
    "TRANSP:TRANSPARENT",
    "END:VEVENT",
  ];
}

/** Escapes a TEXT value (3.3.11) and drops control characters except TAB (3.1). */
export function escapeText(text: string): string {
  return text
    .replaceAll("\\", "\\\\")
    .replaceAll(";", "\\;")
    .replaceAll(",", "\\,")
    .replace(/\r\n|[\r\n]/g, "\\n")
    .replace(/[\u0000-\u0008\u000b-\u001f\u007f]/g, "")
    .toWellFormed();
}

/** Folds a line at 75 octets between characters (3.1). */
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

function compact(time: string): string {
  return time.replace(/[-:]/g, "");
}

function dayAfter(day: string): string {
  return new Date(Date.parse(day) + DAY_MS).toISOString().slice(0, 10);
}
