import {
  accessSync,
  chownSync,
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import { printBytes } from "../../domain/bytes.ts";
import { asStoreError, errorCode, notWritable, StoreError } from "./store-error.ts";

export interface Paths {
  readonly history: string;
  readonly state: string;
  /** The copy of state.db, rewritten with each change of a key. */
  readonly stateCopy: string;
  readonly lock: string;
}

export function pathsOf(directory: string): Paths {
  const folder = resolve(directory);
  const state = join(folder, "state.db");
  return {
    history: join(folder, "licmond.db"),
    state,
    stateCopy: `${state}.copy`,
    lock: join(folder, "licmond.lock"),
  };
}

export function fileSize(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/**
 * Creates the storage directory if its parent exists, and checks that files can be created in the
 * directory.
 */
export function ensureDirectory(directory: string): void {
  try {
    // 0700: the files show who works when.
    mkdirSync(directory, { mode: 0o700 });
  } catch (error) {
    const code = errorCode(error);
    if (code === "ENOENT" || code === "ENOTDIR") throw noPlaceFor(directory, code, error);
    if (code !== "EEXIST") throw asStoreError(error, directory) ?? notWritable(directory, error);
  }
  if (!statSync(directory).isDirectory())
    throw new StoreError(
      "NOT_WRITABLE",
      `${directory} is not a directory`,
      "Set storage.directory to a directory.",
    );
  try {
    accessSync(directory, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    throw notWritable(directory, error);
  }
}

/** Explains why a directory cannot be created. In /proc, the error is ENOENT although the parent exists. */
function noPlaceFor(directory: string, code: string, cause: unknown): StoreError {
  const parent = dirname(directory);
  const stats = statSync(parent, { throwIfNoEntry: false });
  const [why, fix] =
    stats === undefined
      ? [`${parent} does not exist`, `Create it (mkdir -p ${parent}), or set`]
      : stats.isDirectory()
        ? [`the file system of ${parent} does not accept a new directory (${code})`, "Set"]
        : [`${parent} is not a directory`, "Set"];
  const message = `The storage directory ${directory} cannot be created: ${why}`;
  return new StoreError("NOT_WRITABLE", message, `${fix} storage.directory to another place.`, cause);
}

/**
 * Creates an empty file readable only by its owner, regardless of the umask. An existing file stays and
 * must be writable. If root creates the file, the directory's owner gets it, so that `keys create` as root
 * does not lock the daemon out; SQLite does the same for its -wal and -shm files. Throws StoreError.
 */
export function ensurePrivateFile(path: string): void {
  try {
    makePrivateFile(path);
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw asStoreError(error, path) ?? notWritable(path, error);
    requireWritable(path);
  }
}

export function requireWritable(path: string): void {
  refuseOther(path);
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw notWritable(path, error);
  }
}

/**
 * Creates an empty file readable only by its owner. Throws the system error if the file exists. If root
 * creates the file, the owner of `likeDirectory` gets it; null keeps the caller as owner.
 */
export function makePrivateFile(path: string, likeDirectory: string | null = dirname(path)): void {
  const file = openSync(path, constants.O_CREAT | constants.O_EXCL | constants.O_RDWR, 0o600);
  try {
    fchmodSync(file, 0o600);
    if (likeDirectory !== null && process.getuid?.() === 0) {
      const { uid, gid } = statSync(likeDirectory);
      chownSync(path, uid, gid);
    }
  } finally {
    closeSync(file);
  }
}

/** Waits until a file's content, or a directory's list of names, survives a power cut. */
export function syncToDisk(path: string): void {
  const file = openSync(path, constants.O_RDONLY);
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/**
 * Throws StoreError if the path exists and is not a regular file, because SQLite would block on a named
 * pipe.
 */
export function refuseOther(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isFile() === false)
    throw new StoreError("NOT_WRITABLE", `${path} is not a file`, `Move ${path} away.`);
}

/**
 * Reports whether two paths lead to the same file, also through links. Returns false if one of the files is
 * missing.
 */
export function isSameFile(a: string, b: string): boolean {
  const [one, other] = [a, b].map((path) => statSync(path, { throwIfNoEntry: false }));
  return one !== undefined && other !== undefined && one.ino === other.ino && one.dev === other.dev;
}

export const COMPANIONS = ["-wal", "-shm", "-journal"] as const;

/**
 * Matches unfinished databases of a restore, of a new start, or of a copy before an upgrade, and temporary
 * copies of state.db.
 */
const HALF_MADE =
  /^(licmond|state)\.db(\.copy)?\.(restoring|rescuing|upgrading)(-wal|-shm|-journal)?$|^state\.db\.copy-/;

/**
 * Why a file was moved aside. `corrupt`: the file was damaged. `replaced`: a restore replaced the file.
 * `schema-<n>`: the file is a copy from before the upgrade of that schema.
 */
type AsideWord = "corrupt" | "replaced" | `schema-${number}`;

export function timeStamp(now: number): string {
  return new Date(now).toISOString().replace(/[-:]|\.\d+/g, "");
}

export function stampedAt(name: string): number {
  return Date.parse(name.replace(/^.*(\d{4})(\d\d)(\d\dT\d\d)(\d\d)(\d\dZ).*$/, "$1-$2-$3:$4:$5"));
}

/** Returns an unused name next to the database, with the time: `licmond.db.corrupt-20260131T081530Z`. */
export function asideName(path: string, word: AsideWord, now: number): string {
  const name = `${path}.${word}-${timeStamp(now)}`;
  let free = name;
  for (let turn = 1; ["", ...COMPANIONS].some((suffix) => existsSync(free + suffix)); turn++)
    free = `${name}-${turn}`;
  return free;
}

/**
 * Replaces a database with a finished one. The old database and its companion files are moved to a new
 * name, or deleted if `word` is null. Returns the new name of the old database; null if nothing was moved.
 * No connection to either database may be open. After a crash at any moment, one of the two databases is in
 * place.
 */
export function exchange(fresh: string, path: string, word: AsideWord | null, now: number): string | null {
  const aside = word === null ? null : asideName(path, word, now);
  const isThere = existsSync(path);
  syncToDisk(fresh);
  if (isThere && aside !== null) {
    // Link instead of renaming, so that a database is always in place; rename only if the file system has
    // no links.
    try {
      linkSync(path, aside);
    } catch {
      renameSync(path, aside);
    }
  }
  for (const suffix of COMPANIONS) {
    // Move or delete the old log, because SQLite would read it as the log of the new database. The index of
    // the log (-shm) need not be kept, because SQLite rebuilds it.
    if (aside !== null && fileSize(path + suffix) > 0 && suffix !== "-shm")
      renameSync(path + suffix, aside + suffix);
    else rmSync(path + suffix, { force: true });
  }
  renameSync(fresh, path);
  syncToDisk(dirname(path));
  return isThere ? aside : null;
}

export function removeDatabase(path: string): void {
  for (const suffix of ["", ...COMPANIONS]) rmSync(path + suffix, { force: true });
}

export function makeFresh(path: string): void {
  removeDatabase(path);
  makePrivateFile(path);
}

/**
 * Removes unfinished files of a killed licmond from a directory and returns their names. The caller holds the
 * lock.
 */
export function removeLeftovers(directory: string): string[] {
  const found = readdirSync(directory, { withFileTypes: true })
    .filter((entry) => entry.isFile() && HALF_MADE.test(entry.name))
    .map(({ name }) => join(directory, name));
  for (const file of found) rmSync(file);
  return found;
}

/** Minimum space that a copy must leave free for the daemon's write-ahead log. */
const LEFT_FREE_BYTES = 32 * 1024 * 1024;

/** Throws StoreError `FULL` with figures if a directory's file system has no room for a copy of this size. */
export function requireSpace(
  directory: string,
  bytes: number,
  fix: string,
  free = freeBytes(directory),
): void {
  if (free >= bytes + LEFT_FREE_BYTES) return;
  throw new StoreError(
    "FULL",
    `Not enough space in ${directory}: ${printBytes(free)} free; a copy of the database needs ` +
      `${printBytes(bytes)}, plus ${printBytes(LEFT_FREE_BYTES)} that must stay free`,
    fix,
  );
}

export function freeBytes(directory: string): number {
  const { bavail, bsize } = statfsSync(directory);
  return bavail * bsize;
}
