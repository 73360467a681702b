import type { Database } from "bun:sqlite";
import { statSync } from "node:fs";
import { resolve } from "node:path";
import { assertOurs, schemaVersion } from "../migrate.ts";
import { MIGRATIONS } from "../migrations.ts";
import { asStoreError, corrupt, errorCode, StoreError } from "../store-error.ts";
import { openUntouched, tableNames } from "./untouched.ts";

/** What is in a database file that was found to be whole and licmond's. */
export interface DatabaseReport {
  readonly path: string;
  readonly bytes: number;
  readonly schemaVersion: number;
  /** Schema of this licmond: a database of an older one is brought up to it when the daemon starts. */
  readonly knownSchema: number;
  /** Rows of all tables, the search index's own left out. */
  readonly rows: number;
  readonly tables: readonly { readonly name: string; readonly rows: number }[];
  /** API keys that were not revoked. */
  readonly keys: number;
  /** Epoch ms of the oldest and the newest of what was collected or told; null when there is nothing. */
  readonly oldestAt: number | null;
  readonly newestAt: number | null;
}

/** Where times stand, cheap to ask: each is the edge of a key, or a small table. */
const OLDEST: readonly (readonly [table: string, query: string])[] = [
  ["coverage", "SELECT min(from_at) FROM coverage"],
  ["events", "SELECT at FROM events ORDER BY id LIMIT 1"],
];
const NEWEST: typeof OLDEST = [
  ["coverage", "SELECT max(read_at) FROM coverage"],
  ["events", "SELECT at FROM events ORDER BY id DESC LIMIT 1"],
  ["pictures", "SELECT max(saved_at) FROM pictures"],
];

/**
 * Reads a whole database file and tells what is in it; changes nothing, neither the file nor what lies beside it.
 * Throws StoreError: `CORRUPT`, `FOREIGN`, `NEWER`, `NOT_WRITABLE` (it cannot be opened), `IO`.
 */
export function examineDatabase(file: string): DatabaseReport {
  const path = resolve(file);
  assertFile(path);
  let sqlite: Database | null = null;
  try {
    sqlite = openUntouched(path);
    assertOurs(sqlite, path, MIGRATIONS);
    const version = schemaVersion(sqlite);
    if (version === 0) throw corrupt(`${path} is empty: there is no licmond database in it`);
    assertWhole(sqlite, path);
    return { path, bytes: statSync(path).size, schemaVersion: version, ...contentsOf(sqlite) };
  } catch (error) {
    const known = asStoreError(error, path);
    // Their own fixes are for the database that the daemon works on.
    if (known?.code === "CORRUPT" || known?.code === "FOREIGN")
      throw new StoreError(known.code, known.message, "Name another backup.", error);
    throw known ?? error;
  } finally {
    sqlite?.close();
  }
}

/** Throws StoreError when there is no such file. */
export function assertFile(path: string): void {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat?.isFile() === true) return;
  const message = stat === undefined ? `There is no file ${path}` : `${path} is not a file`;
  throw new StoreError("IO", message, "Name the file of a backup.");
}

/** Throws StoreError `CORRUPT` when a page of the database (or of one table) is not what it should be. */
export function assertWhole(sqlite: Database, path: string, table?: string): void {
  try {
    const what = table === undefined ? "1" : `"${table}"`;
    const found = sqlite.query<{ quick_check: string }, []>(`PRAGMA quick_check(${what})`).get()?.quick_check;
    if (found === "ok") return;
    // A line for each finding, below one that names the database: pages and cells, no values.
    const finding = (found ?? "").split("\n").find((line) => line !== "" && !line.startsWith("***"));
    throw corrupt(`The database ${path} is damaged${finding === undefined ? "" : ` (${finding})`}`);
  } catch (error) {
    // A schema that cannot be read is an error of SQL here.
    if (errorCode(error) === "SQLITE_ERROR") throw corrupt(`The database ${path} is damaged`, error);
    throw error;
  }
}

function contentsOf(sqlite: Database) {
  const names = tableNames(sqlite);
  const number = (query: string) =>
    sqlite.query<{ value: number | null }, []>(`SELECT (${query}) AS value`).get()?.value ?? null;
  const tables = names.map((name) => ({ name, rows: number(`SELECT count(*) FROM "${name}"`) ?? 0 }));
  const times = (questions: typeof OLDEST) =>
    questions.flatMap(([table, query]) => (names.includes(table) ? (number(query) ?? []) : []));
  const [oldest, newest] = [times(OLDEST), times(NEWEST)];
  return {
    knownSchema: MIGRATIONS.length,
    rows: tables.reduce((sum, { rows }) => sum + rows, 0),
    tables,
    keys: names.includes("api_keys")
      ? (number("SELECT count(*) FROM api_keys WHERE revoked_at IS NULL") ?? 0)
      : 0,
    oldestAt: oldest.length === 0 ? null : Math.min(...oldest),
    newestAt: newest.length === 0 ? null : Math.max(...newest),
  };
}
