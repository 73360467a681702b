import { accessSync, constants } from "node:fs";
import { basename, dirname } from "node:path";

export const STORE_FAULTS = {
  NOT_WRITABLE: "The database cannot be written",
  NEWER: "The database was written by a newer licmond",
  HELD: "Another licmond uses the database",
  FOREIGN: "The database belongs to another program",
  CORRUPT: "The database is damaged",
  FULL: "No space left for the database",
  BUSY: "The database is locked by another program",
  IO: "The disk of the database failed",
  MIGRATION: "The database could not be brought up to date",
  CLOSED: "The database is closed",
} as const;
export type StoreErrorCode = keyof typeof STORE_FAULTS;

/** `message` describes the problem (with the path), `fix` the solution. Neither contains SQL or values. */
export class StoreError extends Error {
  override readonly name = "StoreError";

  constructor(
    readonly code: StoreErrorCode,
    message: string,
    readonly fix: string,
    cause?: unknown,
  ) {
    super(message, cause === undefined ? undefined : { cause });
  }
}

/** Returns the `code` of an SQLite or system error, or of its cause. */
export function errorCode(error: unknown): string | null {
  for (let at = error; at instanceof Error; at = at.cause) {
    if ("code" in at && typeof at.code === "string") return at.code;
  }
  return null;
}

/**
 * Converts an error of SQLite or the file system to a StoreError if the store is at fault. Returns null for
 * other errors, e.g. a violated constraint. Codes: https://sqlite.org/rescode.html
 */
export function asStoreError(error: unknown, path: string): StoreError | null {
  if (error instanceof StoreError) return error;
  const code = errorCode(error);
  if (code === null) return null;
  const of = (fault: keyof typeof FIXES, message: string) =>
    new StoreError(fault, message, FIXES[fault], error);
  if (/^(SQLITE_FULL|SQLITE_IOERR_SHMSIZE|ENOSPC|EDQUOT)/.test(code))
    return of("FULL", `No space left for ${path}`);
  if (/^(SQLITE_BUSY|SQLITE_LOCKED)/.test(code)) return of("BUSY", `Another program keeps ${path} locked`);
  if (code.startsWith("SQLITE_NOTADB")) return corrupt(path, `${path} is not a database`, error);
  if (code.startsWith("SQLITE_CORRUPT")) return corrupt(path, `The database ${path} is damaged`, error);
  if (/^(SQLITE_READONLY|SQLITE_CANTOPEN|SQLITE_PERM|EACCES|EPERM|EROFS)/.test(code))
    return notWritable(path, error);
  const table = missingTable(error);
  if (table !== null) return corrupt(path, `${path} has no table ${table}`, error);
  if (!/^(SQLITE_IOERR|EIO)/.test(code)) return null;
  return of("IO", `Reading or writing ${path} failed (${code})`);
}

function missingTable(error: unknown): string | null {
  for (let at = error; at instanceof Error; at = at.cause) {
    const [, name] = /^no such table: (?:main\.)?(\w+)$/.exec(at.message) ?? [];
    if (name !== undefined) return name;
  }
  return null;
}

/** A stored value that licmond did not write. SQLite does not detect damage inside a value. */
export class DamagedValue extends Error {
  override readonly name = "DamagedValue";
  readonly code = "SQLITE_CORRUPT_VALUE";
}

const FIXES = {
  FULL: "Free space on its file system, or move storage.directory to a larger one.",
  BUSY: "Look for programs that have the file open (fuser) and stop them.",
  IO: "Check the disk; the kernel log has details.",
} as const;

export function corrupt(path: string, message: string, cause?: unknown): StoreError {
  const then =
    basename(path) === "state.db" ? "puts its copy (state.db.copy) in its place" : "begins a new one";
  const fix = `Put a backup in its place (licmond restore FILE), or start the daemon: it moves the file aside and ${then}.`;
  return new StoreError("CORRUPT", message, fix, cause);
}

export function notWritable(path: string, cause?: unknown): StoreError {
  const isReadOnly = isOnReadOnlyMount(path, cause);
  const what = isReadOnly
    ? "is on a file system that is mounted read-only (EROFS)"
    : `cannot be written by uid ${process.getuid?.()}`;
  const fix = isReadOnly
    ? "Mount it writable (mount -o remount,rw), or use another file system; for a systemd service, ReadWritePaths= opens a path."
    : "Run as the user that owns the storage directory (or as root), or set storage.directory to one that is writable.";
  return new StoreError("NOT_WRITABLE", `${path} ${what}`, fix, cause);
}

/**
 * Checks for a read-only mount. SQLite's error code does not tell, because it is the same for any file that
 * SQLite may not open or write.
 */
function isOnReadOnlyMount(path: string, cause: unknown): boolean {
  if (errorCode(cause) === "EROFS") return true;
  return [path, dirname(path)].some((each) => {
    try {
      accessSync(each, constants.W_OK);
      return false;
    } catch (error) {
      return errorCode(error) === "EROFS";
    }
  });
}
