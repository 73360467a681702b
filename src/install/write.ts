import {
  chmodSync,
  chownSync,
  closeSync,
  constants,
  copyFileSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";

/** Numeric owner; null = as it comes, when the installing user is not root. */
export type Owner = { readonly uid: number; readonly gid: number } | null;

export interface FileRights {
  readonly mode: number;
  readonly owner: Owner;
}

/** Puts a text in place as a whole: what was there stays whole until the new one is on the disk. */
export function writeWhole(path: string, text: string, rights: FileRights): void {
  // Not writeSync: on a disk that fills up it writes a part, and says so in a number alone.
  inPlaceOf(path, rights, (fresh) => writeFileSync(fresh, text, { mode: 0o600, flag: "wx" }));
}

/** The same with the bytes of another file. A program that runs from `path` goes on with what it has. */
export function copyWhole(source: string, path: string, rights: FileRights): void {
  inPlaceOf(path, rights, (fresh) =>
    copyFileSync(source, fresh, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE),
  );
}

export function makeDirectory(path: string, { mode, owner }: FileRights): void {
  mkdirSync(dirname(path), { recursive: true });
  mkdirSync(path, { mode });
  if (owner !== null) chownSync(path, owner.uid, owner.gid);
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

function inPlaceOf(path: string, { mode, owner }: FileRights, make: (fresh: string) => void): void {
  mkdirSync(dirname(path), { recursive: true });
  // Always the same name: what a power cut leaves goes the next time.
  const fresh = join(dirname(path), `.${basename(path)}.tmp`);
  rmSync(fresh, { force: true });
  try {
    make(fresh);
    if (owner !== null) chownSync(fresh, owner.uid, owner.gid);
    chmodSync(fresh, mode);
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
