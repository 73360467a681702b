import { OldMonitorError } from "./old-monitor.ts";

type Value = string | null;

/** Rows from one line of a dump; empty for a CREATE TABLE. */
export interface DumpedRows {
  readonly table: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Value[])[];
}

/** By default mysqldump starts a new INSERT, on a new line, after at most 16 MiB. */
const MAX_LINE = 64 * 1024 * 1024;

const NAME = '[`"]?(\\w+)[`"]?';
const CREATE = new RegExp(`^CREATE TABLE (?:IF NOT EXISTS )?${NAME} \\(`, "i");
const COLUMN = /^\s+(?:`([^`]+)`|"([^"]+)")\s/;
const INSERT = new RegExp(
  `^(?:INSERT|REPLACE) (?:IGNORE )?INTO (?:${NAME}\\.)?${NAME}\\s*(?:\\(([^()']*)\\)\\s*)?VALUES\\s*`,
  "i",
);
// Each pattern is unambiguous, so no input makes it slow.
const ROW = /\s*\(([^'()]*(?:'[^'\\]*(?:\\[\s\S][^'\\]*)*'[^'()]*)*)\)\s*([,;])\s*/y;
const VALUE = /(?:'[^'\\]*(?:\\[\s\S][^'\\]*)*')+|[^,'\s][^,]*/g;
const ESCAPED: Readonly<Record<string, string>> = {
  "0": "\0",
  b: "\b",
  n: "\n",
  r: "\r",
  t: "\t",
  Z: "\x1a",
};

/**
 * Reads the tables of a MySQL or MariaDB dump line by line: mysqldump and phpMyAdmin write each row on one
 * line, and each column of a CREATE TABLE on its own line. Other lines are skipped. Throws OldMonitorError
 * for other files and for dumps that end within a statement.
 */
export async function* dumpedRows(
  pieces: AsyncIterable<Uint8Array>,
  name: string,
): AsyncGenerator<DumpedRows> {
  const columnsOf = new Map<string, string[]>();
  /** The table being created, and the table being filled. */
  let made: string | null = null;
  let filled: Omit<DumpedRows, "rows"> | null = null;
  for await (const line of linesOf(pieces, name)) {
    const created: string | undefined = CREATE.exec(line)?.[1];
    const insert = INSERT.exec(line);
    if (created !== undefined) {
      made = created;
      columnsOf.set(made, []);
    } else if (made !== null) {
      const [, a, b] = COLUMN.exec(line) ?? [];
      const columns: string[] = columnsOf.get(made) ?? [];
      if (line.startsWith(")")) {
        yield { table: made, columns, rows: [] };
        made = null;
      } else if (a !== undefined || b !== undefined) columns.push(a ?? b ?? "");
    } else if (insert !== null) {
      const [, , table = "", list] = insert;
      const columns = list?.split(",").map((one) => one.replace(/[`"\s]/g, "")) ?? columnsOf.get(table);
      if (columns === undefined)
        throw new OldMonitorError(
          `${name} has rows of ${table} but no CREATE TABLE: dump without --no-create-info`,
        );
      filled = { table, columns };
    } else if (/^(?:INSERT|REPLACE)\b/i.test(line)) throw notUnderstood(name, line);
    if (filled === null) continue;
    const { rows, isLast } = rowsOf(line, insert?.[0].length ?? 0, name);
    if (rows.length > 0) yield { ...filled, rows };
    if (isLast) filled = null;
  }
  if (made !== null || filled !== null)
    throw new OldMonitorError(`${name} is cut off within a statement; dump it again`);
}

/** Parses the rows of a line from `at` on, and whether the statement ends with them. */
function rowsOf(line: string, at: number, name: string) {
  const rows: Value[][] = [];
  let isLast = false;
  ROW.lastIndex = at;
  while (!isLast && at < line.length) {
    const [, row, end] = ROW.exec(line) ?? [];
    if (row === undefined) throw notUnderstood(name, line.slice(at));
    rows.push((row.match(VALUE) ?? []).map(readValue));
    isLast = end === ";";
    at = ROW.lastIndex;
  }
  return { rows, isLast };
}

async function* linesOf(pieces: AsyncIterable<Uint8Array>, name: string): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let begun = "";
  for await (const piece of pieces) {
    const [first = "", ...more] = decoder.decode(piece, { stream: true }).split("\n");
    begun += first;
    for (const line of more) {
      yield begun;
      begun = line;
    }
    if (begun.length > MAX_LINE) throw notUnderstood(name, begun);
  }
  yield begun + decoder.decode();
}

const notUnderstood = (name: string, what: string) =>
  new OldMonitorError(
    `${name} is not a readable MySQL dump, or is cut off, at ${JSON.stringify(what.slice(0, 60))}`,
  );

function readValue(text: string): Value {
  if (!text.startsWith("'")) return text.trim().toUpperCase() === "NULL" ? null : text.trim();
  return text
    .slice(1, -1)
    .replace(/''|\\([\s\S])/g, (_, char?: string) => (char === undefined ? "'" : (ESCAPED[char] ?? char)));
}
