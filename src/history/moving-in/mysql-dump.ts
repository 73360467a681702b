import { OldMonitorError } from "./old-monitor.ts";

type Value = string | null;

/** Rows of a table, as a line of a dump has them; none where the table is made. */
export interface DumpedRows {
  readonly table: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Value[])[];
}

/** mysqldump begins another INSERT, and another line, after 16 MiB at the latest unless it is told otherwise. */
const MAX_LINE = 64 * 1024 * 1024;

const NAME = '[`"]?(\\w+)[`"]?';
const CREATE = new RegExp(`^CREATE TABLE (?:IF NOT EXISTS )?${NAME} \\(`, "i");
const COLUMN = /^\s+(?:`([^`]+)`|"([^"]+)")\s/;
const INSERT = new RegExp(
  `^(?:INSERT|REPLACE) (?:IGNORE )?INTO (?:${NAME}\\.)?${NAME}\\s*(?:\\(([^()']*)\\)\\s*)?VALUES\\s*`,
  "i",
);
// None of these can be read in two ways, so that no text makes them slow.
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
 * The tables of a dump of MySQL or MariaDB, line by line: mysqldump and phpMyAdmin write a row within one line, and each
 * column of a CREATE TABLE on its own. What is neither is passed over. Throws OldMonitorError on what is no such dump, or
 * ends within a statement.
 */
export async function* dumpedRows(
  pieces: AsyncIterable<Uint8Array>,
  name: string,
): AsyncGenerator<DumpedRows> {
  const columnsOf = new Map<string, string[]>();
  /** The table that is being made, and the one whose rows come. */
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
          `${name} has rows of ${table} and no CREATE TABLE: dump without --no-create-info`,
        );
      filled = { table, columns };
    } else if (/^(?:INSERT|REPLACE)\b/i.test(line)) throw notUnderstood(name, line);
    if (filled === null) continue;
    const { rows, isLast } = rowsOf(line, insert?.[0].length ?? 0, name);
    if (rows.length > 0) yield { ...filled, rows };
    if (isLast) filled = null;
  }
  if (made !== null || filled !== null)
    throw new OldMonitorError(`${name} ends within a statement: it was cut, dump again`);
}

/** The rows of a line from `at` on; the last one of a statement is told. */
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
    `${name} is no dump of MySQL that can be read, or was cut, at ${JSON.stringify(what.slice(0, 60))}`,
  );

function readValue(text: string): Value {
  if (!text.startsWith("'")) return text.trim().toUpperCase() === "NULL" ? null : text.trim();
  return text
    .slice(1, -1)
    .replace(/''|\\([\s\S])/g, (_, char?: string) => (char === undefined ? "'" : (ESCAPED[char] ?? char)));
}
