import { MINUTE_MS } from "./clock.ts";
import { offsetAt } from "./zone.ts";

/** Tools print minutes, polls take time, and hosts that keep time differ by less. */
const TOLERANCE_MS = 3 * MINUTE_MS;
/** Offsets between zones are whole quarters of an hour. */
const QUARTER_MS = 15 * MINUTE_MS;
/** Offsets of zones in use that are no whole hours, in minutes, daylight saving time included (tz database 2025b). */
const ODD_OFFSETS = new Set([-570, -210, -150, 210, 270, 330, 345, 390, 525, 570, 630, 765, 825]);

/** Times that one poll states, epoch ms. */
interface PollClocks {
  /** The server's clock as printed, read in `zone`; null = not printed, or not the server's. */
  readonly reportTime: number | null;
  /** The latest start of a checkout, which the server's clock has set, read in `zone`; null = there is none. */
  readonly latestStart: number | null;
  /** When this host began to ask, and when it had the answer. */
  readonly askedAt: number;
  readonly answeredAt: number;
  /** The zone set for the server. */
  readonly zone: string;
}

/**
 * What is wrong with a server's times: `zone` = they differ by whole quarters of an hour, as another zone's do;
 * `clock` = by something else. `ahead`: ms, negative = behind.
 * `future` = a checkout starts later than now, by at least that much; the server's clock is not printed, or agrees.
 */
export type ClockSkew =
  | { readonly kind: "zone"; readonly ahead: number; readonly utcOffset: string }
  | { readonly kind: "clock"; readonly ahead: number }
  | { readonly kind: "future"; readonly ahead: number };

/** Compares a poll's times with this host's clock; null = no difference that the poll shows. */
export function clockSkew(clocks: PollClocks): ClockSkew | null {
  const { reportTime, latestStart, askedAt, answeredAt, zone } = clocks;
  const ahead = reportTime === null ? 0 : outside(reportTime, askedAt, answeredAt);
  if (Math.abs(ahead) > TOLERANCE_MS) {
    const quarters = Math.round(ahead / QUARTER_MS) * QUARTER_MS;
    const offset = offsetAt(zone, answeredAt) + quarters;
    if (quarters === 0 || Math.abs(ahead - quarters) > TOLERANCE_MS || !isInUse(offset))
      return { kind: "clock", ahead };
    return { kind: "zone", ahead: quarters, utcOffset: printOffset(offset) };
  }
  if (latestStart === null || latestStart - answeredAt <= TOLERANCE_MS) return null;
  return { kind: "future", ahead: latestStart - answeredAt };
}

/** Polls that must have seen new checkouts before anything is concluded from their ages: each may follow an outage. */
const ENOUGH_POLLS = 5;
/** With longer gaps between polls a checkout's age says little about quarters of an hour. */
const LONGEST_INTERVAL_MS = 10 * MINUTE_MS;

/**
 * The zone that a server's checkouts show: new ones are as old as the gap between two polls at the most, when their
 * starts are read in the right zone. `least`: age of the youngest when it was first seen, ms; `polls`: that saw new ones.
 * Null = the zone fits, or the polls do not show it.
 */
export function zoneSkewByAges(
  { least, polls }: { readonly least: number; readonly polls: number },
  { intervalMs, zone, now }: { readonly intervalMs: number; readonly zone: string; readonly now: number },
): ClockSkew | null {
  if (polls < ENOUGH_POLLS || intervalMs > LONGEST_INTERVAL_MS) return null;
  const quarters = Math.floor((least + TOLERANCE_MS) / QUARTER_MS) * QUARTER_MS;
  const offset = offsetAt(zone, now) - quarters;
  if (quarters === 0 || least - quarters > intervalMs + TOLERANCE_MS || !isInUse(offset)) return null;
  return { kind: "zone", ahead: -quarters, utcOffset: printOffset(offset) };
}

/** Whether any zone has that offset: a clock that is a quarter of an hour wrong must not pass for another zone. */
function isInUse(offset: number): boolean {
  const minutes = offset / MINUTE_MS;
  return (minutes % 60 === 0 && minutes >= -720 && minutes <= 840) || ODD_OFFSETS.has(minutes);
}

/** How far a time with the precision of a minute lies outside of a span. */
function outside(time: number, from: number, to: number): number {
  const begin = Math.floor(from / MINUTE_MS) * MINUTE_MS;
  return time < begin ? time - begin : time > to ? time - to : 0;
}

/** `UTC+05:30` */
function printOffset(ms: number): string {
  const minutes = Math.abs(ms) / MINUTE_MS;
  const two = (value: number) => String(Math.floor(value)).padStart(2, "0");
  return `UTC${ms < 0 ? "-" : "+"}${two(minutes / 60)}:${two(minutes % 60)}`;
}
