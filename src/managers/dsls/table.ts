import { readCells } from "./csv.ts";

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
const REQUIRED: readonly Column[] = ["editor", "feature", "model", "count", "inuse"];
/** Columns that identify a set of licenses. The rows of the set's users repeat them. */
const IDENTITY: readonly Column[] = [
  ...(["editor", "feature", "model", "type", "release", "expires", "customer", "pricing"] as const),
];
/** Columns about users; a row without a user ends before them. */
const USAGE: readonly Column[] = NAMES.slice(NAMES.indexOf("tokens"));

/** Cells that identify and count a set of licenses; the rows of its users share them. */
interface Head {
  /** Start of the line, up to and including the comma before the cells about users; null if the line has quotes. */
  readonly text: string | null;
  readonly cells: readonly string[];
  readonly identity: string;
}

export interface Row {
  readonly head: Head;
  /** Returns the text of a cell; empty if the row or the table has no such cell. */
  get(column: Column): string;
  readonly isUse: boolean;
  readonly namesUsers: boolean;
}

export type Table = NonNullable<ReturnType<typeof readHeader>>;

/**
 * Parses the header `Editor,EditorId,Feature,…`. Columns may come in any order, and later versions may add
 * some.
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
  /** Index of the first cell about users. If the user columns are not last, the whole row is treated as head. */
  const first = Math.min(width, ...usage);
  const isInOrder = counts < first && IDENTITY.every((column) => place[column] < first);
  const from = isInOrder ? first : width + 1;
  let last: Head | null = null;

  function rowOf(head: Head, tail: readonly string[]): Row | null {
    const length = head.cells.length + tail.length;
    const end = tail.at(-1) ?? head.cells.at(-1);
    // The tool ends each cell with a comma, which adds an empty cell to a full row, and omits empty cells at the end.
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
    /**
     * Returns the row of these cells; null if there are too few or too many. `text`: the line, or null if
     * the line has quotes.
     */
    row(cells: readonly string[], text: string | null): Row | null {
      const own = cells.slice(0, from);
      last = {
        text: text === null || cells.length <= from ? null : `${own.join(",")},`,
        cells: own,
        identity: IDENTITY.map((column) => own[place[column]] ?? "").join("\0"),
      };
      return rowOf(last, cells.slice(from));
    },
    /**
     * Parses a line that begins with the head of the previous line, which saves most of the work. Returns
     * null for other lines.
     */
    sameSet(line: string): Row | null {
      const begin = last?.text ?? null;
      if (last === null || begin === null || !line.startsWith(begin)) return null;
      return line.includes('"', begin.length) ? null : rowOf(last, line.slice(begin.length).split(","));
    },
  };
}
