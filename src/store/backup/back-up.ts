import { existsSync, linkSync, readdirSync, realpathSync, renameSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { isSameFile, makePrivateFile, syncToDisk } from "../files.ts";
import { isRunning } from "../process-running.ts";
import { asStoreError, errorCode, notWritable, StoreError } from "../store-error.ts";
import type { DatabaseReport } from "./examine.ts";
import { removeDatabase } from "./exchange.ts";
import { COMPANIONS } from "./file-names.ts";
import { bytesInUse, requireRoom } from "./room.ts";
import { unlessAborted } from "./unless-aborted.ts";
import { copyInWorker, examineInWorker } from "./worker.ts";

/** How far a long work is: 0–1 of a step; null where that cannot be told. */
export type OnStep = (step: "copy" | "check", done: number | null) => void;

export interface BackupOptions {
  /** The storage directory. */
  readonly directory: string;
  readonly file: string;
  /** May take the place of a file that is there. */
  readonly force: boolean;
  readonly onStep: OnStep;
  /** Ends it; what was made is taken away. */
  readonly signal: AbortSignal;
}

/** How often the size of a copy is looked at. */
const LOOK_MS = 100;

/**
 * Copies the database of a storage directory into a file, beside a running daemon or without one. The file appears when
 * it is whole, checked and on the disk. Throws StoreError, or the reason of `signal`.
 */
export async function backUp({
  directory,
  file,
  force,
  onStep,
  signal,
}: BackupOptions): Promise<DatabaseReport> {
  const source = join(resolve(directory), "licmond.db");
  if (!existsSync(source)) {
    throw new StoreError("IO", `There is no database ${source}`, "Start the daemon once (licmond serve).");
  }
  const target = acceptTarget(resolve(file), source, force);
  const folder = dirname(target);
  const bytes = bytesInUse(source);
  requireRoom(folder, bytes, "Name a file on a larger file system.");
  removeLeftOvers(target);
  const part = `${target}.part-${process.pid}`;
  try {
    // What root makes in the storage directory is the daemon's user's; elsewhere the keys' hashes stay root's.
    makePrivateFile(part, isSameFile(folder, dirname(source)) ? folder : null);
  } catch (error) {
    throw asStoreError(error, folder) ?? error;
  }
  try {
    await whileWatching(part, bytes, onStep, unlessAborted(signal, copyInWorker(source, part, "live")));
    syncToDisk(part);
    onStep("check", null);
    const report = await unlessAborted(signal, examineInWorker(part));
    put(part, target, force);
    syncToDisk(folder);
    return { ...report, path: target };
  } catch (error) {
    // SQLite makes nothing beside a copy; only an interrupted one may leave a journal.
    removeDatabase(part);
    throw asStoreError(error, target) ?? error;
  }
}

/** The path to write to; throws StoreError when nothing may be written there. */
function acceptTarget(target: string, source: string, force: boolean): string {
  const folder = dirname(target);
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) {
    throw new StoreError("NOT_WRITABLE", `There is no directory ${folder}`, `Make it (mkdir -p ${folder}).`);
  }
  // With --force too: a rename onto what the daemon has open would be the end of it.
  const own = [
    source,
    ...COMPANIONS.map((suffix) => source + suffix),
    `${source}.vital`,
    join(dirname(source), "licmond.lock"),
  ];
  if (own.some((path) => path === join(realpathSync(folder), basename(target)) || isSameFile(path, target))) {
    throw new StoreError("NOT_WRITABLE", `${target} is what the daemon works on`, "Name another file.");
  }
  const there = statSync(target, { throwIfNoEntry: false });
  if (there === undefined) return target;
  if (!there.isFile()) throw new StoreError("NOT_WRITABLE", `${target} is not a file`, "Name a file.");
  if (!force) throw taken(target);
  return target;
}

function taken(target: string): StoreError {
  return new StoreError("NOT_WRITABLE", `${target} is there already`, "Name another file, or say --force.");
}

/** A backup that was killed leaves its part behind: those of processes that are gone are taken away. */
function removeLeftOvers(target: string): void {
  const prefix = `${basename(target)}.part-`;
  for (const name of readdirSync(dirname(target))) {
    // Its journal begins with the same name.
    const pid = name.startsWith(prefix) ? /^\d+/.exec(name.slice(prefix.length))?.[0] : undefined;
    if (pid !== undefined && !isRunning(Number(pid))) rmSync(join(dirname(target), name), { force: true });
  }
}

/** Gives the copy its name. A link, unlike a rename, never takes the place of a file that came meanwhile. */
function put(part: string, target: string, force: boolean): void {
  if (!force) {
    try {
      linkSync(part, target);
      rmSync(part);
      return;
    } catch (error) {
      if (errorCode(error) === "EEXIST") throw taken(target);
      // A file system without links: the look above must do.
      if (existsSync(target)) throw taken(target);
    }
  }
  try {
    renameSync(part, target);
  } catch (error) {
    throw asStoreError(error, target) ?? notWritable(target, error);
  }
}

async function whileWatching<T>(part: string, bytes: number, onStep: OnStep, work: Promise<T>): Promise<T> {
  const look = () =>
    onStep("copy", bytes === 0 ? 1 : (statSync(part, { throwIfNoEntry: false })?.size ?? 0) / bytes);
  look();
  const timer = setInterval(look, LOOK_MS);
  try {
    return await work;
  } finally {
    clearInterval(timer);
  }
}
