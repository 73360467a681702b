import { constants, Database } from "bun:sqlite";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { MIGRATIONS } from "../migrations/migrations.ts";
import { COMPANIONS } from "./exchange.ts";
import { refuseOther } from "./files.ts";
import { assertOurs, schemaVersion } from "./migrate.ts";
import { asStoreError, errorCode, StoreError } from "./store-error.ts";

/** A connection for reading beside others that may write. */
export function openReader(path: string): Database {
  refuseOther(path);
  const sqlite = new Database(path, { readonly: true, strict: true });
  sqlite.run("PRAGMA busy_timeout = 5000");
  return sqlite;
}

/** A connection to a file that no process works on, which leaves no trace. A log beside it belongs to it, and is read too. */
export function openUntouched(path: string): Database {
  return COMPANIONS.some((suffix) => existsSync(path + suffix)) ? openReader(path) : openImmutable(path);
}

/**
 * Reads a file by itself, without locks. `immutable` keeps SQLite from making a -wal and a -shm beside a file that was in
 * use once (https://sqlite.org/uri.html).
 */
export function openImmutable(path: string): Database {
  const { SQLITE_OPEN_READONLY, SQLITE_OPEN_URI } = constants;
  return new Database(`${pathToFileURL(path).href}?immutable=1`, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
}

/** The tables of a database, without those that SQLite and its search index keep for themselves. */
export function tableNames(sqlite: Database): string[] {
  const list = sqlite.query<{ name: string; type: string }, []>("PRAGMA main.table_list").all();
  const own = list.filter(({ name, type }) => type === "table" && !name.startsWith("sqlite_"));
  return own.map(({ name }) => name).sort();
}

/**
 * The database of a storage directory, for reading alone: beside a running daemon or without one. Nothing is made,
 * migrated or locked. Throws StoreError.
 */
export async function withDatabase<T>(directory: string, work: (sqlite: Database) => Promise<T>): Promise<T> {
  const path = join(resolve(directory), "licmond.db");
  if (!existsSync(path)) {
    throw new StoreError("IO", `There is no database ${path}`, "Start the daemon once (licmond serve).");
  }
  let sqlite: Database | null = null;
  try {
    sqlite = openReader(path);
    sqlite.run("PRAGMA query_only = ON");
    assertOurs(sqlite, path, MIGRATIONS);
    const version = schemaVersion(sqlite);
    if (version < MIGRATIONS.length) {
      throw new StoreError(
        "MIGRATION",
        `${path} was written by an older licmond (schema ${version}, this one has ${MIGRATIONS.length})`,
        "Restart the daemon with this version first.",
      );
    }
    return await work(sqlite);
  } catch (error) {
    // What the work does elsewhere, e.g. to a file, is no matter of this database.
    const ours = errorCode(error)?.startsWith("SQLITE_") === true;
    throw (ours ? asStoreError(error, path) : null) ?? error;
  } finally {
    sqlite?.close();
  }
}
