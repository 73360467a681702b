import { expiryOn } from "../../domain/expiry.ts";
import { type Expiry, UNKNOWN_EXPIRY } from "../../domain/reading.ts";
import { fromWallClock, isDate } from "../../domain/time/zone.ts";
import type { Row } from "./table.ts";

export function readCount(text: string): number | null {
  return /^\d{1,15}$/.test(text) ? Number(text) : null;
}

/** Returns the host of `pc17 (0a1b.0)/10.1.2.3`; other forms are returned unchanged. */
export function readHost(text: string): string | null {
  const slash = text.lastIndexOf("/");
  const begin = text.lastIndexOf(" (");
  const isWhole = begin !== -1 && text.indexOf(")", begin) === slash - 1 && !text.includes(" ", slash);
  return (isWhole ? text.slice(0, begin) : text) || null;
}

/** Parses a program and its process id: `/opt/cad/bin/cad ( 4711)`. */
export function readProcess(text: string): { readonly name: string | null; readonly pid: number | null } {
  const at = text.endsWith(")") ? text.lastIndexOf(" (") : -1;
  const pid = at === -1 ? null : readCount(text.slice(text[at + 2] === " " ? at + 3 : at + 2, -1));
  return { name: (pid === null ? text : text.slice(0, at)) || null, pid };
}

const DAY = /^(\d{4})-(\d\d)-(\d\d) $/;
const CLOCK = /^([01]\d|2[0-3]):[0-5]\d:[0-5]\d$/;

/** Reads times such as `2025-01-31 08:15:00` in the zone. */
export function createTimes(zone: string) {
  /** Local midnights (see `wallClock`), cached because rows repeat the same days. */
  const midnights = new Map<string, number | null>();

  function midnight(text: string): number | null {
    const [, year = "", month = "", day = ""] = DAY.exec(text) ?? [];
    return isDate(Number(year), Number(month), Number(day)) ? Date.parse(`${year}-${month}-${day}`) : null;
  }

  function wallOf(text: string): number | null {
    const clock = text.slice(11);
    const day = midnights.getOrInsertComputed(text.slice(0, 11), midnight);
    if (day === null || !CLOCK.test(clock)) return null;
    const [hours, minutes, seconds] = [twoDigits(clock, 0), twoDigits(clock, 3), twoDigits(clock, 6)];
    return day + ((hours * 60 + minutes) * 60 + seconds) * 1000;
  }

  function read(text: string): number | null {
    const wall = wallOf(text);
    return wall === null ? null : fromWallClock(zone, wall);
  }

  return {
    /**
     * Returns when the person (`since`) and the program (`at`) got the license. Returns null if a cell is
     * not a time, or is filled although an earlier cell is empty. In that case, a comma in a name has
     * shifted the cells.
     */
    grant(row: Row): { readonly since: number | null; readonly at: number | null } | null {
      const [begun, given] = [row.get("since"), row.get("at")];
      if (begun === "") return given === "" && row.get("used") === "" ? { since: null, at: null } : null;
      const since = read(begun);
      const at = given === begun ? since : given === "" ? null : read(given);
      return since === null || (at === null && given !== "") ? null : { since, at };
    },
    /** Parses an expiry date; an empty cell means unknown. Returns null if the text is not a date. */
    expiry(text: string): Expiry | null {
      if (text === "") return UNKNOWN_EXPIRY;
      if (read(text) === null) return null;
      const [year = 0, month = 0, day = 0] = text.slice(0, 10).split("-").map(Number);
      return expiryOn(zone, year, month, day);
    },
  };
}

function twoDigits(text: string, at: number): number {
  return text.charCodeAt(at) * 10 + text.charCodeAt(at + 1) - 0x30 * 11;
}
