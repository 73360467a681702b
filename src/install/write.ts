import {
  chownSync,
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fchmodSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { codeOf } from "../domain/error-code.ts";

/** Numeric owner; null = as it comes, when who installs is not root. */
export type Owner = { readonly uid: number; readonly gid: number } | null;

export interface FileRights {
  readonly mode: number;
  readonly owner: Owner;
}

/** Puts a text in place as a whole: what was there stays whole until the new one is on the disk. */
export function writeWhole(path: string, text: string, rights: FileRights): void {
  inPlaceOf(path, rights, (fresh) => {
    const file = openSync(fresh, constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY, 0o600);
    try {
      // Not writeSync: on a disk that fills up it writes a part, and says so in a number alone.
      writeFileSync(file, text);
    } finally {
      closeSync(file);
    }
  });
}

/** The same with the bytes of another file. A program that runs from `path` goes on with what it has. */
export function copyWhole(source: string, path: string, rights: FileRights): void {
  inPlaceOf(path, rights, (fresh) =>
    copyFileSync(source, fresh, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE),
  );
}

/** Makes a directory and those above it that are missing; these are 0755, as directories of the system are. */
export function makeDirectory(path: string, { mode, owner }: FileRights): void {
  makeAbove(path);
  makeOne(path, mode);
  if (owner !== null) chownSync(path, owner.uid, owner.gid);
  setMode(path, mode);
}

/** Directories above a path that are missing, open to all whatever the umask of who installs. */
export function makeAbove(path: string): void {
  const above = dirname(path);
  if (existsSync(above)) return;
  makeAbove(above);
  makeOne(above, 0o755);
  setMode(above, 0o755);
}

/** One that somebody else has made meanwhile will do. */
function makeOne(path: string, mode: number): void {
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    if (codeOf(error) !== "EEXIST" || !lstatSync(path).isDirectory()) throw error;
  }
}

/** The mode as it is written, whatever the umask. */
export function setMode(path: string, mode: number): void {
  const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    fchmodSync(file, mode);
  } finally {
    closeSync(file);
  }
}

function inPlaceOf(path: string, { mode, owner }: FileRights, make: (fresh: string) => void): void {
  makeAbove(path);
  // Always the same name: what a power cut leaves goes the next time.
  const fresh = join(dirname(path), `.${basename(path)}.tmp`);
  rmSync(fresh, { force: true });
  try {
    make(fresh);
    if (owner !== null) chownSync(fresh, owner.uid, owner.gid);
    setMode(fresh, mode);
    flush(fresh);
    renameSync(fresh, path);
    flush(dirname(path));
  } catch (error) {
    rmSync(fresh, { force: true });
    throw error;
  }
}

/** A file, or the names in a directory, to the disk: a power cut leaves the old one or the new one. */
function flush(path: string): void {
  const file = openSync(path, constants.O_RDONLY);
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/**
 * Keeps the installed binary as `previous` and puts another in its place, which may be the previous one itself. One of
 * the two is in place at any moment.
 */
export function replaceBinary(source: string, file: string, previous: string, rights: FileRights): void {
  const before = lstatSync(previous, { throwIfNoEntry: false });
  if (before?.isFile() === false) throw new Error(`${previous} is not a regular file: move it away`);
  const staged = `${file}.staged`;
  try {
    copyWhole(source, staged, rights);
    copyWhole(file, previous, rights);
    renameSync(staged, file);
  } finally {
    rmSync(staged, { force: true });
  }
}
