import { accessSync, constants } from "node:fs";
import { dirname } from "node:path";

/**
 * What can keep the store from working, in words for an administrator:
 * `NOT_WRITABLE` directory or file cannot be made or written · `NEWER` the file was written by a newer licmond ·
 * `HELD` another licmond works on the directory · `FOREIGN` the file is another program's database ·
 * `CORRUPT` it is damaged or no database · `FULL` no space · `BUSY` locked past the timeout ·
 * `IO` the disk failed · `MIGRATION` the schema could not be brought up to date · `CLOSED` used after its end.
 */
export type StoreErrorCode =
  | "NOT_WRITABLE"
  | "NEWER"
  | "HELD"
  | "FOREIGN"
  | "CORRUPT"
  | "FULL"
  | "BUSY"
  | "IO"
  | "MIGRATION"
  | "CLOSED";

/** `message` says what is wrong (with the path), `fix` what would be right. Neither holds SQL or a value. */
export class StoreError extends Error {
  readonly code: StoreErrorCode;
  readonly fix: string;

  constructor(code: StoreErrorCode, message: string, fix: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "StoreError";
    this.code = code;
    this.fix = fix;
  }
}

/** `code` of an SQLite or system error, also of one that drizzle wrapped. */
export function errorCode(error: unknown): string | null {
  for (let at = error; at instanceof Error; at = at.cause) {
    if ("code" in at && typeof at.code === "string") return at.code;
  }
  return null;
}

/**
 * An error of SQLite or of the file system as a StoreError, when the store (not the caller) is at fault:
 * everything else, e.g. a violated constraint, comes back as null.
 * Codes: https://sqlite.org/rescode.html
 */
export function asStoreError(error: unknown, path: string): StoreError | null {
  if (error instanceof StoreError) return error;
  const code = errorCode(error);
  if (code === null) return null;
  if (/^(SQLITE_FULL|SQLITE_IOERR_SHMSIZE|ENOSPC|EDQUOT)/.test(code)) {
    return new StoreError(
      "FULL",
      `There is no space left for ${path}`,
      "Free space on its file system, or move storage.directory to a larger one.",
      error,
    );
  }
  if (/^(SQLITE_BUSY|SQLITE_LOCKED)/.test(code)) {
    return new StoreError(
      "BUSY",
      `Another program keeps ${path} locked`,
      "Look for programs that have the file open (fuser) and end them.",
      error,
    );
  }
  if (/^(SQLITE_CORRUPT|SQLITE_NOTADB)/.test(code)) {
    const isNone = code.startsWith("SQLITE_NOTADB");
    return corrupt(isNone ? `${path} is not a database` : `The database ${path} is damaged`, error);
  }
  if (/^(SQLITE_READONLY|SQLITE_CANTOPEN|SQLITE_PERM|EACCES|EPERM|EROFS)/.test(code)) {
    return notWritable(path, error);
  }
  if (/^(SQLITE_IOERR|EIO)/.test(code)) {
    return new StoreError(
      "IO",
      `Reading or writing ${path} failed (${code})`,
      "Look at the disk: the kernel's log tells more.",
      error,
    );
  }
  return null;
}

/** `message` has the path. */
export function corrupt(message: string, cause?: unknown): StoreError {
  const fix =
    "Put a backup in its place (licmond restore FILE), or start the daemon: it moves the file aside and begins a new one.";
  return new StoreError("CORRUPT", message, fix, cause);
}

export function notWritable(path: string, cause?: unknown): StoreError {
  if (isOnReadOnlyMount(path, cause)) {
    return new StoreError(
      "NOT_WRITABLE",
      `${path} lies on a file system that is mounted read-only (EROFS)`,
      "Mount it writable (mount -o remount,rw), or use another file system; for a systemd service, ReadWritePaths= opens a path.",
      cause,
    );
  }
  const user = typeof process.getuid === "function" ? ` by uid ${process.getuid()}` : "";
  return new StoreError(
    "NOT_WRITABLE",
    `${path} cannot be written${user}`,
    "Run as the user that owns the storage directory (or as root), or set storage.directory to one that is writable.",
    cause,
  );
}

/** SQLite does not say so itself: its code is that of a file which it may not open or write, whatever the reason. */
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
