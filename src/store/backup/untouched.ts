import { constants, Database } from "bun:sqlite";
import { existsSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { refuseOther } from "../files.ts";

/**
 * A connection to a file that nobody works on, which leaves no trace. `immutable` keeps SQLite from making a -wal and a
 * -shm beside a file that was in use once; where they are, they belong to the database and it is read with them
 * (https://sqlite.org/uri.html).
 */
export function openUntouched(path: string): Database {
  if (["-wal", "-shm", "-journal"].some((suffix) => existsSync(path + suffix))) return openReader(path);
  const { SQLITE_OPEN_READONLY, SQLITE_OPEN_URI } = constants;
  return new Database(`${pathToFileURL(path).href}?immutable=1`, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
}

/** A connection for reading beside others that may write. */
export function openReader(path: string): Database {
  refuseOther(path);
  const sqlite = new Database(path, { readonly: true, strict: true });
  sqlite.run("PRAGMA busy_timeout = 5000");
  return sqlite;
}

/** The tables of a database, without those that SQLite and its search index keep for themselves. */
export function tableNames(sqlite: Database): string[] {
  const list = sqlite.query<{ name: string; type: string }, []>("PRAGMA main.table_list").all();
  const indexes = list.filter(({ type }) => type === "virtual").map(({ name }) => `${name}_`);
  return list
    .filter(({ name, type }) => type === "table" && !name.startsWith("sqlite_"))
    .map(({ name }) => name)
    .filter((name) => !indexes.some((prefix) => name.startsWith(prefix)))
    .sort();
}
