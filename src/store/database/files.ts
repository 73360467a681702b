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

/** Paths of the two databases of a storage directory, and of the file by which it is locked. */
export interface Paths {
  /** `licmond.db`: the large one. */
  readonly history: string;
  /** `state.db`: keys, secrets and what else is small and precious. */
  readonly state: string;
  /** The copy of state.db, written again with each change of a key. */
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

/** Bytes of a file; 0 when it is not there. */
export function fileSize(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/** Makes the storage directory when only it is missing, and makes sure that files can be made in it. */
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

/** Why a directory cannot be made where something is missing. /proc answers ENOENT although it is there. */
function noPlaceFor(directory: string, code: string, cause: unknown): StoreError {
  const parent = dirname(directory);
  const stats = statSync(parent, { throwIfNoEntry: false });
  const [why, fix] =
    stats === undefined
      ? [`${parent} does not exist`, `Make it (mkdir -p ${parent}), or set`]
      : stats.isDirectory()
        ? [`the file system of ${parent} takes no new directory (${code})`, "Set"]
        : [`${parent} is not a directory`, "Set"];
  const message = `The storage directory ${directory} cannot be made: ${why}`;
  return new StoreError("NOT_WRITABLE", message, `${fix} storage.directory to another place.`, cause);
}

/**
 * Makes an empty file that only its owner can read, whatever the umask, unless a file is there already, which must be
 * writable. Root gives it to the directory's owner, so that a root's `keys create` does not lock the daemon out; SQLite
 * itself does the same for the -wal and -shm beside it. Throws StoreError.
 */
export function ensurePrivateFile(path: string): void {
  try {
    makePrivateFile(path);
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw asStoreError(error, path) ?? notWritable(path, error);
    requireWritable(path);
  }
}

/** Throws StoreError when a file cannot be read and written. It may be missing. */
export function requireWritable(path: string): void {
  refuseOther(path);
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw notWritable(path, error);
  }
}

/**
 * Makes an empty file that only its owner can read. Throws the system's error when there is a file already. Root gives
 * the new file to the owner of `likeDirectory`; null = it stays the caller's.
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

/** Waits until a file's content, or a directory's list of names, would survive a power cut. */
export function syncToDisk(path: string): void {
  const file = openSync(path, constants.O_RDONLY);
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Throws StoreError when the path is no regular file: SQLite would wait for ever at a named pipe. It may be missing. */
export function refuseOther(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isFile() === false)
    throw new StoreError("NOT_WRITABLE", `${path} is not a file`, `Move ${path} away.`);
}

/** Whether two paths lead to the same file, also through links. False when one of them is missing. */
export function isSameFile(a: string, b: string): boolean {
  const [one, other] = [a, b].map((path) => statSync(path, { throwIfNoEntry: false }));
  return one !== undefined && other !== undefined && one.ino === other.ino && one.dev === other.dev;
}

/** Files that SQLite keeps beside a database. */
export const COMPANIONS = ["-wal", "-shm", "-journal"] as const;

/**
 * Databases that are not finished: of a restore, of a new beginning, of the copy before an upgrade; and what a copy of
 * state.db is made in, which has a process id in its name.
 */
const HALF_MADE =
  /^(licmond|state)\.db(\.copy)?\.(restoring|rescuing|upgrading)(-wal|-shm|-journal)?$|^state\.db\.copy-/;

/**
 * Why a file lies beside the database: `corrupt` it was found damaged · `replaced` a restore took its place ·
 * `schema-<n>` a copy from before the upgrade of that schema.
 */
type AsideWord = "corrupt" | "replaced" | `schema-${number}`;

/** `20260131T081530Z`: the time as it stands in names of files. */
export function timeStamp(now: number): string {
  return new Date(now).toISOString().replace(/[-:]|\.\d+/g, "");
}

/** Epoch ms of a name's {@link timeStamp}. */
export function stampedAt(name: string): number {
  return Date.parse(name.replace(/^.*(\d{4})(\d\d)(\d\dT\d\d)(\d\d)(\d\dZ).*$/, "$1-$2-$3:$4:$5"));
}

/** A free name beside the database, with the time: `licmond.db.corrupt-20260131T081530Z`. */
export function asideName(path: string, word: AsideWord, now: number): string {
  const name = `${path}.${word}-${timeStamp(now)}`;
  let free = name;
  for (let turn = 1; ["", ...COMPANIONS].some((suffix) => existsSync(free + suffix)); turn++)
    free = `${name}-${turn}`;
  return free;
}

/**
 * Puts a finished database in the place of another. That one and its companion files move aside to a new name, or are
 * deleted when `word` is null. Answers the new name; null when nothing was moved. No connection to either database may
 * be open. A crash at any moment leaves one of the two in place.
 */
export function exchange(fresh: string, path: string, word: AsideWord | null, now: number): string | null {
  const aside = word === null ? null : asideName(path, word, now);
  const isThere = existsSync(path);
  syncToDisk(fresh);
  if (isThere && aside !== null) {
    // Two names for a moment, so that there is always a database in place; unless the file system has no links.
    try {
      linkSync(path, aside);
    } catch {
      renameSync(path, aside);
    }
  }
  for (const suffix of COMPANIONS) {
    // SQLite would take a log for the new database's. It rebuilds the index of the log (-shm) itself.
    if (aside !== null && fileSize(path + suffix) > 0 && suffix !== "-shm")
      renameSync(path + suffix, aside + suffix);
    else rmSync(path + suffix, { force: true });
  }
  renameSync(fresh, path);
  syncToDisk(dirname(path));
  return isThere ? aside : null;
}

/** Takes a database away, whole or half made, with what SQLite keeps beside it. */
export function removeDatabase(path: string): void {
  for (const suffix of ["", ...COMPANIONS]) rmSync(path + suffix, { force: true });
}

/** Makes an empty private file for a database that is not finished; what a killed licmond left there goes. */
export function makeFresh(path: string): void {
  removeDatabase(path);
  makePrivateFile(path);
}

/** Removes what a killed licmond left half made in a directory, and answers which files. The caller holds it. */
export function removeLeftovers(directory: string): string[] {
  const found = readdirSync(directory, { withFileTypes: true })
    .filter((entry) => entry.isFile() && HALF_MADE.test(entry.name))
    .map(({ name }) => join(directory, name));
  for (const file of found) rmSync(file);
  return found;
}

/** What a copy leaves free: the daemon's write-ahead log needs room to go on. */
const LEFT_FREE_BYTES = 32 * 1024 * 1024;

/** Throws StoreError `FULL`, with the figures, when a directory's file system has no room for a copy of so many bytes. */
export function requireSpace(
  directory: string,
  bytes: number,
  fix: string,
  free = freeBytes(directory),
): void {
  if (free >= bytes + LEFT_FREE_BYTES) return;
  throw new StoreError(
    "FULL",
    `There is too little room in ${directory}: ${printBytes(free)} free, a copy of the database needs ` +
      `${printBytes(bytes)} and leaves ${printBytes(LEFT_FREE_BYTES)} to others`,
    fix,
  );
}

export function freeBytes(directory: string): number {
  const { bavail, bsize } = statfsSync(directory);
  return bavail * bsize;
}
