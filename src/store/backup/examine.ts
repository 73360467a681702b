import type { Database } from "bun:sqlite";
import { statSync } from "node:fs";
import { resolve } from "node:path";
import { assertOurs, schemaVersion } from "../database/migrate.ts";
import { openUntouched, tableNames } from "../database/read-only.ts";
import { asStoreError, corrupt, StoreError } from "../database/store-error.ts";
import { MIGRATIONS, STATE_MIGRATIONS } from "../migrations/migrations.ts";
import { assertWhole } from "../open/start-check.ts";

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
  /** Epoch ms of the oldest and the newest of what was collected; null when there is nothing. */
  readonly oldestAt: number | null;
  readonly newestAt: number | null;
  /** It is a backup of state.db alone. */
  readonly isState: boolean;
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
 * Reads a whole database file (a backup, or a daily one of state.db) and reports what is in it; changes nothing, neither the
 * file nor what lies beside it. Throws StoreError: `CORRUPT`, `FOREIGN`, `NEWER`, `NOT_WRITABLE` (it cannot be opened), `IO`.
 */
export function examineDatabase(file: string): DatabaseReport {
  const path = resolve(file);
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat?.isFile() !== true) {
    const message = stat === undefined ? `There is no file ${path}` : `${path} is not a file`;
    throw new StoreError("IO", message, "Name the file of a backup.");
  }
  let sqlite: Database | null = null;
  try {
    sqlite = openUntouched(path);
    const names = tableNames(sqlite);
    const isState = names.includes("api_keys") && !names.includes("servers");
    const migrations = isState ? STATE_MIGRATIONS : MIGRATIONS;
    assertOurs(sqlite, path, migrations);
    const version = schemaVersion(sqlite);
    if (version === 0) throw corrupt(`${path} is empty: there is no licmond database in it`);
    assertWhole(sqlite, path);
    const schema = { schemaVersion: version, knownSchema: migrations.length };
    return { path, bytes: stat.size, ...schema, isState, ...contentsOf(sqlite) };
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

function contentsOf(sqlite: Database) {
  const names = tableNames(sqlite);
  const number = (query: string) =>
    sqlite.query<{ value: number | null }, []>(`SELECT (${query}) AS value`).get()?.value ?? null;
  const tables = names.map((name) => ({ name, rows: number(`SELECT count(*) FROM "${name}"`) ?? 0 }));
  const times = (questions: typeof OLDEST) =>
    questions.flatMap(([table, query]) => (names.includes(table) ? (number(query) ?? []) : []));
  const [oldest, newest] = [times(OLDEST), times(NEWEST)];
  const keys = "SELECT count(*) FROM api_keys WHERE revoked_at IS NULL";
  return {
    rows: tables.reduce((sum, { rows }) => sum + rows, 0),
    tables,
    keys: names.includes("api_keys") ? (number(keys) ?? 0) : 0,
    oldestAt: oldest.length === 0 ? null : Math.min(...oldest),
    newestAt: newest.length === 0 ? null : Math.max(...newest),
  };
}
