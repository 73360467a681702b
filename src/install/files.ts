import {
  chmodSync,
  chownSync,
  constants,
  copyFileSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { syncToDisk } from "../store/database/files.ts";
import type { FileRights, Run } from "./host.ts";

/** Writes a text atomically: the old file stays until the new one is on disk. */
export function writeWhole(path: string, text: string, rights: FileRights): void {
  // Do not use writeSync: on a full disk it may write only a part, which shows only in its return value.
  inPlaceOf(path, rights, (fresh) => writeFileSync(fresh, text, { mode: 0o600, flag: "wx" }));
}

/** Like {@link writeWhole}, with the bytes of another file. A program that runs from `path` keeps its old file. */
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
 * Replaces the installed binary, and keeps the replaced one as `previous`. The new binary may be the
 * previous one. One of the two files is always in place.
 */
export function replaceBinary(source: string, file: string, previous: string, rights: FileRights): void {
  if (lstatSync(previous, { throwIfNoEntry: false })?.isFile() === false)
    throw new Error(`${previous} is not a regular file: move it away`);
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
  // Use a fixed name, so that the next run removes leftovers of a power failure.
  const fresh = join(dirname(path), `.${basename(path)}.tmp`);
  rmSync(fresh, { force: true });
  try {
    make(fresh);
    if (owner !== null) chownSync(fresh, owner.uid, owner.gid);
    chmodSync(fresh, mode);
    syncToDisk(fresh);
    renameSync(fresh, path);
    syncToDisk(dirname(path));
  } catch (error) {
    rmSync(fresh, { force: true });
    throw error;
  }
}

/** Last bytes of every executable that Bun has compiled. */
const TRAILER = "\n---- Bun! ----\n";
const ENTRY = "/$bunfs/root/licmond";

/**
 * Reports whether a file is a licmond executable. Looks only at the content, because the file may be any
 * program and must not run.
 */
export function isLicmondBinary(path: string): boolean {
  const bytes = readFileSync(path);
  return bytes.includes(TRAILER) && bytes.includes(ENTRY);
}

export function sameBytes(one: string, other: string): boolean {
  const [a, b] = [statSync(one), statSync(other)];
  if (a.dev === b.dev && a.ino === b.ino) return true;
  return a.size === b.size && readFileSync(one).equals(readFileSync(other));
}

const VERSION_LINE = /^licmond (\d+\.\d+\.\d+\S*) \((\S+)\)$/m;
const VERSION_TIMEOUT_MS = 10_000;

/** Asks a licmond executable for its version, which also shows whether it runs on this host. */
export async function versionOf(run: Run, binary: string) {
  const { ok, stdout, words } = await run([binary, "version"], VERSION_TIMEOUT_MS);
  const [line, version] = VERSION_LINE.exec(stdout) ?? [];
  if (ok && line !== undefined && version !== undefined) return { ok: true, version, line } as const;
  return { ok: false, why: words === "" ? "it printed no version" : words } as const;
}
