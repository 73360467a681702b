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

/** A file up to this size is read whole: some 250 MB are read in a second. */
const READ_WHOLE_BYTES = 32 * 1024 * 1024;

/**
 * Looks for damage before the daemon writes anything, for a bounded time: a small file is read whole, of a large one its
 * header and schema. `whole` = read all of it, its indexes too, however long that takes. Changes nothing. Damage that lies
 * elsewhere is met by a query later. Throws StoreError `CORRUPT`, `FOREIGN`, `NEWER`.
 */
export function checkBeforeOpening(
  path: string,
  migrations: readonly Migration[],
  whole: boolean,
  readWholeBytes = READ_WHOLE_BYTES,
): void {
  const size = fileSize(path);
  // With a journal of a transaction that was cut off, SQLite must first roll it back: it is looked at when it is opened.
  if (size === 0 || existsSync(`${path}-journal`)) return;
  refuseOther(path);
  assertHeader(path);
  try {
    using sqlite = openReader(path);
    assertOurs(sqlite, path, migrations);
    assertTables(sqlite, path, migrations);
    if (whole || size <= readWholeBytes) assertWhole(sqlite, path, whole ? "integrity_check" : "quick_check");
  } catch (error) {
    // Tables and rows that are not as the schema has them; what is no error of SQLite is a bug.
    const isDamage = asStoreError(error, path) === null && errorCode(error)?.startsWith("SQLITE_") === true;
    const known = isDamage
      ? corrupt(path, `The database ${path} is damaged`, error)
      : asStoreError(error, path);
    if (known === null) throw error;
    // What this connection may not do, the next one says better.
    if (known.code === "CORRUPT" || known.code === "FOREIGN" || known.code === "NEWER") throw known;
  }
}

/**
 * Throws StoreError `CORRUPT` when a table of the newest schema is not there. In an older schema the migration that needs
 * the table names it.
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
 * Sees in the header what SQLite itself would stumble over only later: it opens a file of a future format, and writes
 * nothing to it. Reads the file itself: not to be called in a process that has the database open.
 * Layout: https://sqlite.org/fileformat2.html#the_database_header
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

/** Throws StoreError `CORRUPT` when a page of the database is not what it should be. */
export function assertWhole(
  sqlite: Database,
  path: string,
  check: "quick_check" | "integrity_check" = "quick_check",
): void {
  try {
    const found = sqlite.query<Record<string, string>, []>(`PRAGMA ${check}(1)`).get()?.[check];
    if (found === "ok") return;
    // A line for each finding, below one that names the database: pages and cells, no values.
    const finding = (found ?? "").split("\n").find((line) => line !== "" && !line.startsWith("***"));
    throw corrupt(path, `The database ${path} is damaged${finding === undefined ? "" : ` (${finding})`}`);
  } catch (error) {
    // A schema that cannot be read is an error of SQL here.
    if (errorCode(error) === "SQLITE_ERROR") throw corrupt(path, `The database ${path} is damaged`, error);
    throw error;
  }
}

/**
 * A note beside the database that a query met damage: the next start then reads all of the file instead of parts of it.
 * A file, because what is damaged is the last place to write it into.
 */
const noteOf = (path: string) => `${path}.damaged`;

/** What was met; null when nothing was. */
export function damageMet(path: string): string | null {
  return existsSync(noteOf(path)) ? readFileSync(noteOf(path), "utf8").trim() : null;
}

/** Does nothing when there is a note already. Does not throw: the damage itself is being reported. */
export function noteDamage(path: string, what: string): void {
  try {
    makePrivateFile(noteOf(path));
    writeFileSync(noteOf(path), `${what}\n`);
  } catch {
    // There already, or the disk takes nothing: the next start looks at parts, as always.
  }
}

export function forgetDamage(path: string): void {
  rmSync(noteOf(path), { force: true });
}

/** Schema of a database that is there, and the one of this licmond: an older one is migrated when the daemon starts. */
export interface DatabaseVersions {
  /** Null = unknown: the newest is in a write-ahead log, which a running daemon has. */
  readonly schema: number | null;
  readonly current: number;
}

/**
 * Whether the daemon would take up the database of this directory, by its file alone: nothing is locked or made, so that
 * it can be asked beside a running daemon and by another user. Null = no file, or an empty one, which is fine.
 * Throws StoreError as `openStore` would.
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

/** True when there is certainly no database, and no copy from which its keys would be restored. */
export function isEmptyStorage(directory: string): boolean {
  const { history, state, stateCopy } = pathsOf(directory);
  const files = [history, state, stateCopy, `${history}.vital`];
  try {
    return files.every((path) => statSync(path, { throwIfNoEntry: false }) === undefined);
  } catch {
    // Opening it in earnest says what is wrong.
    return false;
  }
}
