import { Database } from "bun:sqlite";
import { MIGRATIONS } from "../store/migrations/migrations.ts";
import { createReader, type Reader } from "./reader.ts";

/** Tables of the daemon that the history reader uses. A hub fills them. */
const TABLES = [
  ...["coverage", "samples", "packed_days", "dirty", "history_users"],
  ...["sessions", "denials", "denial_spans", "denial_cursors", "server_statuses", "event_marks"],
];
/** Indexes that no query on a scratch database uses. */
const UNUSED = ["sessions_by_end", "sessions_by_start", "denials_once", "denials_by_user", "denials_by_end"];

let statements: readonly string[] | null = null;

function schema(): readonly string[] {
  if (statements !== null) return statements;
  const whole = new Database(":memory:");
  for (const { sql } of MIGRATIONS) whole.run(sql);
  const rows = whole
    .query<{ sql: string; name: string; table: string }, []>(
      "SELECT sql, name, tbl_name AS 'table' FROM sqlite_schema WHERE type IN ('table', 'index') AND sql IS NOT NULL ORDER BY type DESC",
    )
    .all();
  whole.close();
  const wanted = rows.filter(({ name, table }) => TABLES.includes(table) && !UNUSED.includes(name));
  statements = wanted.map(({ sql }) => sql);
  return statements;
}

type Value = string | number | null | Uint8Array;

export type Scratch = ReturnType<typeof openScratch>;

/** Opens an in-memory database with the daemon's history tables, without triggers. */
export function openScratch() {
  const sqlite = new Database(":memory:", { strict: true });
  sqlite.run("PRAGMA journal_mode = OFF");
  for (const sql of schema()) sqlite.run(sql);
  return {
    readerAt: (now: number, checkpoint: () => void): Reader => createReader(sqlite, { now, checkpoint }),
    fill(table: string, columns: string, rows: readonly (readonly Value[])[]): void {
      if (rows.length === 0) return;
      const marks = columns.split(",").map(() => "?");
      const insert = sqlite.query<null, Value[]>(`INSERT INTO ${table} (${columns}) VALUES (${marks})`);
      sqlite.transaction(() => {
        for (const row of rows) insert.run(...row);
      })();
    },
    clear: (table: string, where = "TRUE") => void sqlite.run(`DELETE FROM ${table} WHERE ${where}`),
    close: () => sqlite.close(),
  };
}
