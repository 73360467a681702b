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

/** The cells of a row that name its set of licenses and count it; the rows of its users share them. */
interface Head {
  /** As it begins the line, with its last comma; null where it has quotes. */
  readonly text: string | null;
  readonly cells: readonly string[];
  readonly identity: string;
}

export interface Row {
  readonly head: Head;
  /** Empty where the row or the table has no such cell. */
  get(column: Column): string;
  /** Somebody holds or wants a license of it. */
  readonly isUse: boolean;
  /** The table has columns for users at all. */
  readonly namesUsers: boolean;
}

export type Table = NonNullable<ReturnType<typeof readHeader>>;

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
  const places = NAMES.map((column) => [column, titles.indexOf(COLUMNS[column])] as const);
  const place = Object.fromEntries(places) as Record<Column, number>;
  if (REQUIRED.some((column) => place[column] === -1)) return null;
  const usage = USAGE.map((column) => place[column]).filter((at) => at !== -1);
  const counts = Math.max(place.count, place.inuse);
  /** Where the cells of users begin; where they do not follow all the others, a row is all head. */
  const first = Math.min(width, ...usage);
  const isInOrder = counts < first && IDENTITY.every((column) => place[column] < first);
  const from = isInOrder ? first : width + 1;
  let last: Head | null = null;

  function rowOf(head: Head, tail: readonly string[]): Row | null {
    const length = head.cells.length + tail.length;
    const end = tail.at(-1) ?? head.cells.at(-1);
    // The tool puts a comma behind each cell, and leaves out the last ones where there is nothing to say.
    if (length > width + (end === "" ? 1 : 0) || head.cells.length <= counts) return null;
    const cell = (at: number): string => (at < from ? head.cells[at] : tail[at - from]) ?? "";
    return {
      head,
      get: (column) => cell(place[column]),
      isUse: usage.some((at) => cell(at) !== ""),
      namesUsers: place.user !== -1,
    };
  }

  return {
    /** A row by its cells; null when there are too few, or more than columns. `text`: the line, where it has no quotes. */
    row(cells: readonly string[], text: string | null): Row | null {
      const own = cells.slice(0, from);
      last = {
        text: text === null || cells.length <= from ? null : `${own.join(",")},`,
        cells: own,
        identity: IDENTITY.map((column) => own[place[column]] ?? "").join("\0"),
      };
      return rowOf(last, cells.slice(from));
    },
    /** The row of a line that begins as the one before, which saves most of the work; null for any other. */
    sameSet(line: string): Row | null {
      const begin = last?.text ?? null;
      if (last === null || begin === null || !line.startsWith(begin)) return null;
      return line.includes('"', begin.length) ? null : rowOf(last, line.slice(begin.length).split(","));
    },
  };
}
