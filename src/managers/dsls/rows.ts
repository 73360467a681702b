import type { Expiry } from "../../domain/reading.ts";
import { UNKNOWN_EXPIRY } from "../../domain/reading.ts";
import { endOfDay, isDate, localToUtc } from "../../domain/time/zone.ts";
import { readCells } from "./csv.ts";

/** Columns that are read, by the names that the header gives them. */
export const COLUMNS = {
  editor: "Editor",
  feature: "Feature",
  model: "Model",
  type: "Commercial Type",
  release: "Max Release Number",
  pricing: "Pricing Structure",
  expires: "Expiration Date",
  customer: "Customer ID",
  count: "Count",
  inuse: "Inuse",
  tokens: "Tokens",
  host: "Host",
  user: "User",
  internalId: "Internal ID",
  process: "Active Process",
  clientVersion: "Client Code Version",
  session: "Session ID",
  since: "Granted Since",
  used: "Last Used At",
  at: "Granted At",
  queue: "Queue Position",
} as const;
export type Column = keyof typeof COLUMNS;

const NAMES = Object.keys(COLUMNS) as Column[];
/** Without these a table says nothing. */
const REQUIRED: readonly Column[] = ["editor", "feature", "model", "count", "inuse"];
/** Eight columns tell one set of licenses from another; rows of its users repeat them. */
const IDENTITY: readonly Column[] = [
  ...(["editor", "feature", "model", "type", "release", "expires", "customer", "pricing"] as const),
];
/** A row without a user ends before these. */
const USAGE: readonly Column[] = NAMES.slice(NAMES.indexOf("tokens"));

export type Row = NonNullable<ReturnType<ReturnType<typeof readHeader> & {}>>;

/**
 * The line that names the columns, `Editor,EditorId,Feature,…`: reads the rows below it. Columns may come in any order,
 * and later versions may add some. Null when the line is none, or lacks a column without which nothing is known.
 */
export function readHeader(line: string) {
  if (!line.startsWith("Editor,EditorId,")) return null;
  const names = readCells(line);
  if (!Array.isArray(names)) return null;
  const titles = names.map((name) => name.trim());
  const width = titles.findLastIndex((title) => title !== "") + 1;
  const places = NAMES.map((column) => titles.indexOf(COLUMNS[column]));
  const place = Object.fromEntries(NAMES.map((column, index) => [column, places[index]])) as Record<
    Column,
    number
  >;
  if (REQUIRED.some((column) => place[column] === -1)) return null;
  const identity = IDENTITY.map((column) => place[column]);
  const usage = USAGE.map((column) => place[column]);
  const namesUsers = place.user !== -1;

  /**
   * A row's cells by column; null when there are too few, or more than columns. The tool puts a comma behind each cell, and
   * leaves out the last ones where there is nothing to say.
   */
  return (cells: readonly string[]) => {
    if (cells.length > width + (cells.at(-1) === "" ? 1 : 0)) return null;
    if (cells.length <= Math.max(place.count, place.inuse)) return null;
    return {
      /** Empty where the row or the table has no such cell. */
      get: (column: Column): string => cells[place[column]] ?? "",
      identity: identity.map((at) => cells[at] ?? "").join("\0"),
      /** Somebody holds or wants a license of it. */
      isUse: usage.some((at) => (cells[at] ?? "") !== ""),
      /** The table has columns for users at all. */
      namesUsers,
    };
  };
}

/** A count; null when the text is none. */
export function readCount(text: string): number | null {
  return /^\d{1,15}$/.test(text) ? Number(text) : null;
}

const HOST = /^(.*) \([^()]*\)\/[^/\s]*$/s;

/** `pc17 (0a1b.0)/10.1.2.3` is the host pc17: behind it stand its id and address. */
export function readHost(text: string): string | null {
  return HOST.exec(text)?.[1] ?? (text || null);
}

const PROCESS = /^(.*) \( ?(\d{1,10})\)$/s;

/** `/opt/cad/bin/cad ( 4711)`: the program and its process id. */
export function readProcess(text: string): { readonly name: string | null; readonly pid: number | null } {
  const [, name, pid] = PROCESS.exec(text) ?? [];
  return { name: (name ?? text) || null, pid: pid === undefined ? null : Number(pid) };
}

const TIME = /^(\d{4})-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)$/;

/** Reads `2025-01-31 08:15:00` by the clocks of the zone. Rows repeat their times: each text is read once. */
export function createTimes(zone: string) {
  const instants = new Map<string, number | null>();

  function read(text: string): number | null {
    const found = TIME.exec(text);
    if (found === null) return null;
    const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = found.slice(1).map(Number);
    if (!isDate(year, month, day) || hour > 23 || minute > 59 || second > 59) return null;
    return localToUtc(zone, year, month, day, hour, minute, second);
  }

  return {
    /**
     * When a license was granted to a person, and to the program; null where the row does not say. Null for the whole when
     * a cell is no time, or times are missing before others: then a name with a comma has shifted the cells.
     */
    grant(row: Row): { readonly since: number | null; readonly at: number | null } | null {
      const cells = [row.get("since"), row.get("used"), row.get("at")];
      const [since = null, used = null, at = null] = cells.map((text) =>
        text === "" ? null : instants.getOrInsertComputed(text, read),
      );
      const isShifted = since === null && (used !== null || at !== null);
      const isRead = cells.every((text, index) => text === "" || [since, used, at][index] !== null);
      return isRead && !isShifted ? { since, at } : null;
    },
    /** The day on which licenses end; null when the text is none. Where the tool prints none, none is known. */
    expiry(text: string): Expiry | null {
      if (text === "") return UNKNOWN_EXPIRY;
      if (read(text) === null) return null;
      const expiresOn = text.slice(0, 10);
      const [year = 0, month = 0, day = 0] = expiresOn.split("-").map(Number);
      return { expiresOn, expiresAt: endOfDay(zone, year, month, day), permanent: false };
    },
  };
}
