import { constants, Database } from "bun:sqlite";
import { existsSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { MIGRATIONS, type Migration } from "../migrations/migrations.ts";
import { COMPANIONS, pathsOf, refuseOther } from "./files.ts";
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
  const path = pathsOf(directory).history;
  if (!existsSync(path)) {
    throw new StoreError("IO", `There is no database ${path}`, "Start the daemon once (licmond serve).");
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
    // What the work does elsewhere, e.g. to a file, is no matter of this database.
    const ours = errorCode(error)?.startsWith("SQLITE_") === true;
    throw (ours ? asStoreError(error, path) : null) ?? error;
  }
}

/**
 * Copies a database as it is at one moment into the empty file `to`. `live` = others may work on it: they do not wait
 * for the copy, nor it for them, because a reader beside a write-ahead log sees what was committed when it began.
 *
 * VACUUM INTO rather than the bytes of the files: those belong together only under a lock, and in a process that has
 * the database open, closing a second descriptor would drop SQLite's own locks on it
 * (https://sqlite.org/howtocorrupt.html, "canceled by a separate thread doing close()").
 * It is one statement that cannot report its progress: the size of `to` shows it. Throws StoreError.
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
    // The source is only read: what cannot be written is the copy.
    const isOfCopy = /^SQLITE_(FULL|READONLY|IOERR_(WRITE|FSYNC|TRUNCATE))/.test(errorCode(error) ?? "");
    throw asStoreError(error, isOfCopy ? to : from) ?? error;
  }
}

/** Bytes that a copy of the database takes at most: its pages in use, those in the write-ahead log included. */
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
