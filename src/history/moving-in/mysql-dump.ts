import { OldMonitorError } from "./old-monitor.ts";

type Value = string | null;

/** Rows of a table as a dump has them; none where the table is made. */
export interface DumpedRows {
  readonly table: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Value[])[];
}

/** The longest statement that is read as a whole, and the longest row. */
const MAX_STATEMENT = 64 * 1024;

// Each is matched where the last one ended. None can be read in two ways, so that no text makes them slow.
const SPACE = /(?:\s|--[^\n]*\n|#[^\n]*\n|\/\*[^*]*\*+(?:[^/*][^*]*\*+)*\/)*/y;
const NAME = '(?:[`"]?\\w+[`"]?\\.)?[`"]?(\\w+)[`"]?';
const CREATE = new RegExp(`CREATE\\s+TABLE\\s+(?:IF\\s+NOT\\s+EXISTS\\s+)?${NAME}\\s*\\(`, "iy");
const INSERT = new RegExp(
  `(?:INSERT|REPLACE)\\s+(?:IGNORE\\s+)?INTO\\s+${NAME}\\s*(?:\\(([^()']*)\\)\\s*)?VALUES\\s*(?=\\()`,
  "iy",
);
const ROW = /\s*\(([^'()]*(?:'[^'\\]*(?:\\[\s\S][^'\\]*)*'[^'()]*)*)\)\s*([,;])/y;
const STATEMENT = /(?:'(?:[^'\\]|\\[\s\S])*'|`[^`]*`|"(?:[^"\\]|\\[\s\S])*"|[^;'`"])*;/y;
const VALUE = /(?:'[^'\\]*(?:\\[\s\S][^'\\]*)*')+|[^,'\s][^,]*/g;
const COLUMN = /^\s*(?:`([^`]+)`|"([^"]+)"|(\w+))\s/gm;
const NO_COLUMN = /^(?:PRIMARY|UNIQUE|KEY|INDEX|CONSTRAINT|FOREIGN|CHECK|FULLTEXT|CREATE)$/i;
const ESCAPED: Readonly<Record<string, string>> = {
  "0": "\0",
  b: "\b",
  n: "\n",
  r: "\r",
  t: "\t",
  Z: "\x1a",
};

/**
 * The tables of a dump of MySQL or MariaDB (mysqldump, phpMyAdmin), row by row as they come. What is no CREATE TABLE and
 * no INSERT is passed over. Throws OldMonitorError on what is no such dump, or ends within a statement.
 */
export async function* dumpedRows(
  pieces: AsyncIterable<Uint8Array>,
  name: string,
): AsyncGenerator<DumpedRows> {
  const decoder = new TextDecoder();
  const columnsOf = new Map<string, readonly string[]>();
  let text = "";
  let at = 0;
  let insert: Omit<DumpedRows, "rows"> | null = null;
  /** Every character of `text` may be the last of the dump. */
  let isLast = false;

  const match = (pattern: RegExp) => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found !== null) at = pattern.lastIndex;
    return found;
  };

  /** All that is whole in the text. */
  function* read(): Generator<DumpedRows> {
    for (;;) {
      if (insert !== null) {
        const rows: Value[][] = [];
        let end = "";
        for (let row = match(ROW); row !== null; row = match(ROW)) {
          rows.push(valuesOf(row[1] ?? ""));
          end = row[2] ?? "";
          if (end === ";") break;
        }
        if (rows.length > 0) yield { ...insert, rows };
        if (end !== ";") return;
        insert = null;
      }
      match(SPACE);
      // What begins here may go on behind the end of the text.
      if (at >= text.length || (!isLast && /^[-/#]/.test(text.slice(at, at + 1)))) return;
      const head = match(INSERT);
      if (head !== null) {
        const [, table = "", list] = head;
        const columns = list?.split(",").map((one) => one.replace(/[`"\s]/g, "")) ?? columnsOf.get(table);
        if (columns === undefined)
          throw new OldMonitorError(
            `${name} has rows of ${table} and no CREATE TABLE: dump without --no-create-info`,
          );
        insert = { table, columns };
        continue;
      }
      const from = at;
      if (match(STATEMENT) === null) return;
      const statement = text.slice(from, at);
      CREATE.lastIndex = 0;
      const table = CREATE.exec(statement)?.[1];
      // An INSERT that is not understood would be missing.
      if (/^(?:INSERT|REPLACE)\s/i.test(statement)) throw notUnderstood(statement);
      if (table === undefined) continue;
      const names = [...statement.slice(CREATE.lastIndex).matchAll(COLUMN)].map(
        ([, a, b, c]) => a ?? b ?? c ?? "",
      );
      const columns = names.filter((column) => !NO_COLUMN.test(column));
      columnsOf.set(table, columns);
      yield { table, columns, rows: [] };
    }
  }

  const notUnderstood = (what: string) =>
    new OldMonitorError(
      `${name} is no dump of MySQL that can be read, at ${JSON.stringify(what.slice(0, 60))}`,
    );

  for await (const piece of pieces) {
    text = text.slice(at) + decoder.decode(piece, { stream: true });
    at = 0;
    yield* read();
    if (text.length - at > MAX_STATEMENT) throw notUnderstood(text.slice(at));
  }
  text = `${text.slice(at)}${decoder.decode()}\n`;
  at = 0;
  isLast = true;
  yield* read();
  match(SPACE);
  if (at < text.length || insert !== null)
    throw new OldMonitorError(`${name} ends within a statement: it was cut, dump again`);
}

function valuesOf(row: string): Value[] {
  return (row.match(VALUE) ?? []).map((value) => {
    if (value.startsWith("'")) {
      const inner = value.slice(1, -1);
      return /[\\']/.test(inner)
        ? inner.replace(/''|\\([\s\S])/g, (_, char?: string) =>
            char === undefined ? "'" : (ESCAPED[char] ?? char),
          )
        : inner;
    }
    const plain = value.trim();
    return plain.toUpperCase() === "NULL" ? null : plain;
  });
}
