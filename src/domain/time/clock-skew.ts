import { MINUTE_MS } from "./clock.ts";
import { offsetAt } from "./zone.ts";

/** Tools print minutes, polls take time, and synchronized hosts differ by less. */
const TOLERANCE_MS = 3 * MINUTE_MS;
/** Zones differ by whole quarters of an hour. */
const QUARTER_MS = 15 * MINUTE_MS;
/** Zone offsets in minutes that are not whole hours, including daylight saving time (tz database 2025b). */
const ODD_OFFSETS = new Set([-570, -210, -150, 210, 270, 330, 345, 390, 525, 570, 630, 765, 825]);

/** Times from one poll, epoch ms. */
interface PollClocks {
  /** The server's clock, read in `zone`; null if not printed, or not the server's. */
  readonly reportTime: number | null;
  /** Latest start of a checkout by the server's clock, read in `zone`. */
  readonly latestStart: number | null;
  /** When this host sent the query, and when it got the answer. */
  readonly askedAt: number;
  readonly answeredAt: number;
  /** The configured zone of the server. */
  readonly zone: string;
}

/**
 * `zone`: the server's times are ahead by a multiple of 15 minutes, as if from another zone. `clock`: by
 * another amount. `future`: a checkout starts in the future, although the server's clock is right or not
 * printed. `ahead` is ms; negative means behind.
 */
export type ClockSkew =
  | { readonly kind: "zone"; readonly ahead: number; readonly utcOffset: string }
  | { readonly kind: "clock"; readonly ahead: number }
  | { readonly kind: "future"; readonly ahead: number };

/** Compares a poll's times with this host's clock; null if they agree. */
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

/** Polls with new checkouts that are needed, because each may follow an outage. */
const ENOUGH_POLLS = 5;
/** With longer gaps between polls, a checkout's age cannot show a difference of 15 minutes. */
const LONGEST_INTERVAL_MS = 10 * MINUTE_MS;

/**
 * Returns the zone that a server's checkouts suggest: in the right zone, new ones are at most as old as the
 * gap between two polls. `least`: age of the youngest when first seen, ms; `polls`: number of polls with new
 * ones. Null if the zone fits, or the polls do not show it.
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

/**
 * Reports whether any zone has this offset. Otherwise a clock that is 15 minutes off would look like another
 * zone.
 */
function isInUse(offset: number): boolean {
  const minutes = offset / MINUTE_MS;
  return (minutes % 60 === 0 && minutes >= -720 && minutes <= 840) || ODD_OFFSETS.has(minutes);
}

/** Returns how far a time with minute precision lies outside a span. */
function outside(time: number, from: number, to: number): number {
  const begin = Math.floor(from / MINUTE_MS) * MINUTE_MS;
  return time < begin ? time - begin : time > to ? time - to : 0;
}

/** Formats an offset: `UTC+05:30`. */
function printOffset(ms: number): string {
  const minutes = Math.abs(ms) / MINUTE_MS;
  const two = (value: number) => String(Math.floor(value)).padStart(2, "0");
  return `UTC${ms < 0 ? "-" : "+"}${two(minutes / 60)}:${two(minutes % 60)}`;
}
