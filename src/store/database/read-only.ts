import { constants, Database } from "bun:sqlite";
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { pathToFileURL } from "node:url";
import { MIGRATIONS, type Migration } from "../migrations/migrations.ts";
import { COMPANIONS, pathsOf, refuseOther } from "./files.ts";
import { assertOurs, schemaVersion } from "./migrate.ts";
import { asStoreError, errorCode, StoreError } from "./store-error.ts";

export function openReader(path: string): Database {
  refuseOther(path);
  const sqlite = new Database(path, { readonly: true, strict: true });
  sqlite.run("PRAGMA busy_timeout = 5000");
  return sqlite;
}

/** Makes the tables of state.db readable in a connection to the licmond.db at `path`. */
export function attachState(sqlite: Database, path: string): void {
  sqlite.run("ATTACH ? AS state", [pathsOf(dirname(path)).state]);
}

/**
 * Opens a file that no process uses, without leaving a trace. If there is a write-ahead log next to the
 * file, the log is read, too.
 */
export function openUntouched(path: string): Database {
  return COMPANIONS.some((suffix) => existsSync(path + suffix)) ? openReader(path) : openImmutable(path);
}

/**
 * Reads a single file without locks. `immutable` keeps SQLite from creating -wal and -shm files next to a
 * file that was once in use (https://sqlite.org/uri.html).
 */
export function openImmutable(path: string): Database {
  const { SQLITE_OPEN_READONLY, SQLITE_OPEN_URI } = constants;
  return new Database(`${pathToFileURL(path).href}?immutable=1`, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
}

/** Returns the tables of a database, without the internal ones of SQLite and its search index. */
export function tableNames(sqlite: Database): string[] {
  const list = sqlite.query<{ name: string; type: string }, []>("PRAGMA main.table_list").all();
  const own = list.filter(({ name, type }) => type === "table" && !name.startsWith("sqlite_"));
  return own.map(({ name }) => name).sort();
}

/**
 * Reads the database of a storage directory, with or without a running daemon. Nothing is created, migrated
 * or locked. Throws StoreError.
 */
export async function withDatabase<T>(directory: string, work: (sqlite: Database) => Promise<T>): Promise<T> {
  const path = pathsOf(directory).history;
  if (!existsSync(path)) {
    throw new StoreError("IO", `Database not found: ${path}`, "Start the daemon once (licmond serve).");
  }
  try {
    using sqlite = openReader(path);
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
    const ours = errorCode(error)?.startsWith("SQLITE_") === true;
    throw (ours ? asStoreError(error, path) : null) ?? error;
  }
}

/**
 * Copies a database as of one moment into the empty file `to`. `live`: the database may be in use. Neither
 * side waits for the other, because a reader of a write-ahead log sees only earlier commits.
 *
 * Uses VACUUM INTO instead of copying files: files are consistent only under a lock, and in a process that
 * has the database open, closing a second descriptor would drop SQLite's own locks on the file
 * (https://sqlite.org/howtocorrupt.html, "canceled by a separate thread doing close()"). The single
 * statement cannot report its progress; the size of `to` shows it. Throws StoreError.
 */
export function copyDatabase(
  from: string,
  to: string,
  kind: "live" | "file",
  migrations: readonly Migration[] = MIGRATIONS,
): void {
  try {
    using sqlite = kind === "live" ? openReader(from) : openUntouched(from);
    assertOurs(sqlite, from, migrations);
    sqlite.run("VACUUM INTO ?", [to]);
  } catch (error) {
    // The source is only read, so errors of writing are about the copy.
    const isOfCopy = /^SQLITE_(FULL|READONLY|IOERR_(WRITE|FSYNC|TRUNCATE))/.test(errorCode(error) ?? "");
    throw asStoreError(error, isOfCopy ? to : from) ?? error;
  }
}

/**
 * Returns the maximum size of a copy of the database: the size of all used pages, including those in the
 * write-ahead log.
 */
export function bytesInUse(path: string): number {
  using sqlite = openReader(path);
  try {
    const bytes = sqlite.query<{ inUse: number }, []>(
      `SELECT (page_count - freelist_count) * page_size AS inUse
         FROM pragma_page_count, pragma_freelist_count, pragma_page_size`,
    );
    return bytes.get()?.inUse ?? 0;
  } catch (error) {
    throw asStoreError(error, path) ?? error;
  }
}
