import { Database } from "bun:sqlite";
import {
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { fileSize, makePrivateFile, pathsOf, refuseOther, requireWritable } from "../database/files.ts";
import { assertOurs, schemaVersion } from "../database/migrate.ts";
import { openImmutable, openReader, tableNames } from "../database/read-only.ts";
import { asStoreError, corrupt, errorCode } from "../database/store-error.ts";
import { MIGRATIONS, type Migration } from "../migrations/migrations.ts";

/** Maximum size of a file that is read completely. Reading 250 MB takes about a second. */
const READ_WHOLE_BYTES = 32 * 1024 * 1024;

/**
 * Checks for damage before the daemon writes anything. The time is bounded: a small file is read
 * completely; of a large file, only the header and schema are read. Queries find other damage later.
 * `whole` reads everything including indexes, however long it takes. Changes nothing. Throws StoreError
 * `CORRUPT`, `FOREIGN`, `NEWER`.
 */
export function checkBeforeOpening(
  path: string,
  migrations: readonly Migration[],
  whole: boolean,
  readWholeBytes = READ_WHOLE_BYTES,
): void {
  const size = fileSize(path);
  // Skip the check if there is a journal, because SQLite must first roll back an interrupted transaction.
  // The file is checked when it is opened later.
  if (size === 0 || existsSync(`${path}-journal`)) return;
  refuseOther(path);
  assertHeader(path);
  try {
    using sqlite = openReader(path);
    assertOurs(sqlite, path, migrations);
    assertTables(sqlite, path, migrations);
    if (whole || size <= readWholeBytes) assertWhole(sqlite, path, whole ? "integrity_check" : "quick_check");
  } catch (error) {
    // Other SQLite errors mean that tables or rows do not match the schema. Errors that are not SQLite's
    // are bugs.
    const isDamage = asStoreError(error, path) === null && errorCode(error)?.startsWith("SQLITE_") === true;
    const known = isDamage
      ? corrupt(path, `The database ${path} is damaged`, error)
      : asStoreError(error, path);
    if (known === null) throw error;
    // Ignore other errors, such as missing permissions, because the next connection reports them better.
    if (known.code === "CORRUPT" || known.code === "FOREIGN" || known.code === "NEWER") throw known;
  }
}

/**
 * Throws StoreError `CORRUPT` if a table of the newest schema is missing. In an older schema, the migration
 * that needs a missing table reports it.
 */
function assertTables(sqlite: Database, path: string, migrations: readonly Migration[]): void {
  if (schemaVersion(sqlite) !== migrations.length) return;
  using fresh = new Database(":memory:");
  for (const { sql } of migrations) fresh.run(sql);
  const names = tableNames(sqlite);
  const missing = tableNames(fresh).filter((name) => !names.includes(name));
  if (missing.length > 0) throw corrupt(path, `${path} has no table ${missing.join(", ")}`);
}

/**
 * Checks the header for problems that SQLite would find only later: SQLite opens files of a future format
 * and fails only when writing. Reads the file directly, so do not call this in a process that has the
 * database open. Layout: https://sqlite.org/fileformat2.html#the_database_header
 */
function assertHeader(path: string): void {
  const header = Buffer.alloc(19);
  const file = openSync(path, "r");
  try {
    readSync(file, header, 0, header.length, 0);
  } finally {
    closeSync(file);
  }
  if (header.readUInt8(18) > 2) throw corrupt(path, `The header of ${path} is damaged`);
}

export function assertWhole(
  sqlite: Database,
  path: string,
  check: "quick_check" | "integrity_check" = "quick_check",
): void {
  try {
    const found = sqlite.query<Record<string, string>, []>(`PRAGMA ${check}(1)`).get()?.[check];
    if (found === "ok") return;
    // The output has a line that names the database, then one line per finding. A finding names pages and
    // cells, no values.
    const finding = (found ?? "").split("\n").find((line) => line !== "" && !line.startsWith("***"));
    throw corrupt(path, `The database ${path} is damaged${finding === undefined ? "" : ` (${finding})`}`);
  } catch (error) {
    // If the schema is unreadable, SQLite reports an SQL error.
    if (errorCode(error) === "SQLITE_ERROR") throw corrupt(path, `The database ${path} is damaged`, error);
    throw error;
  }
}

/**
 * Name of the file that marks the database as damaged, so that the next start reads the whole database. The
 * mark is a separate file, because the damaged file should not be written.
 */
const noteOf = (path: string) => `${path}.damaged`;

export function damageMet(path: string): string | null {
  return existsSync(noteOf(path)) ? readFileSync(noteOf(path), "utf8").trim() : null;
}

export function noteDamage(path: string, what: string): void {
  try {
    makePrivateFile(noteOf(path));
    writeFileSync(noteOf(path), `${what}\n`);
  } catch {
    // The damage is noted already, or the disk is not writable; then the next start does the usual partial
    // check.
  }
}

export function forgetDamage(path: string): void {
  rmSync(noteOf(path), { force: true });
}

export interface DatabaseVersions {
  /** Null means unknown, because the newest value is in the write-ahead log of a running daemon. */
  readonly schema: number | null;
  readonly current: number;
}

/**
 * Reports whether the daemon would accept the database of this directory. Reads only the file: nothing is
 * locked or created, so this works next to a running daemon and for another user. Returns null if the file
 * is missing or empty, which the daemon accepts. Throws StoreError like `openStore`.
 */
export function inspectDatabase(directory: string): DatabaseVersions | null {
  const path = pathsOf(directory).history;
  try {
    requireWritable(path);
    if (fileSize(path) === 0) return null;
    using sqlite = openImmutable(path);
    assertOurs(sqlite, path, MIGRATIONS);
    const isCurrent = fileSize(`${path}-wal`) === 0;
    if (isCurrent) assertTables(sqlite, path, MIGRATIONS);
    return { schema: isCurrent ? schemaVersion(sqlite) : null, current: MIGRATIONS.length };
  } catch (error) {
    throw asStoreError(error, path) ?? error;
  }
}

/** Reports whether there is certainly no database, and no copy from which keys would be restored. */
export function isEmptyStorage(directory: string): boolean {
  const { history, state, stateCopy } = pathsOf(directory);
  const files = [history, state, stateCopy, `${history}.vital`];
  try {
    return files.every((path) => statSync(path, { throwIfNoEntry: false }) === undefined);
  } catch {
    // Ignore the error here; opening the database reports it.
    return false;
  }
}
