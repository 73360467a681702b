import { existsSync, renameSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import {
  isSameFile,
  makePrivateFile,
  pathsOf,
  removeDatabase,
  requireSpace,
  syncToDisk,
} from "../database/files.ts";
import { bytesInUse } from "../database/read-only.ts";
import { asStoreError, StoreError } from "../database/store-error.ts";
import { STATE_MIGRATIONS } from "../migrations/migrations.ts";
import { type DatabaseReport, inWorker } from "./worker.ts";

/** Progress of a step, 0–1; null if unknown. */
export type OnStep = (step: "copy" | "check", done: number | null) => void;

export interface BackupOptions {
  readonly directory: string;
  readonly file: string;
  /** `state`: copies only state.db, which contains no history. */
  readonly only?: "state";
  readonly force?: boolean;
  readonly onStep?: OnStep;
  /** Cancels the backup and removes the partial file. */
  readonly signal?: AbortSignal;
}

const LOOK_MS = 100;

/**
 * Copies the databases of a storage directory into one file, with or without a running daemon. The file
 * appears only when it is complete, checked and synced to disk. Throws StoreError, or the reason of
 * `signal`.
 */
export async function backUp({
  directory,
  file,
  only,
  force = false,
  onStep = () => {},
  signal = new AbortController().signal,
}: BackupOptions): Promise<DatabaseReport> {
  const paths = pathsOf(directory);
  const source = only === "state" ? paths.state : paths.history;
  if (!existsSync(source)) {
    throw new StoreError("IO", `Database not found: ${source}`, "Start the daemon once (licmond serve).");
  }
  const target = resolve(file);
  const folder = dirname(target);
  refuseTarget(target, dirname(source), force);
  const bytes = bytesInUse(source);
  requireSpace(folder, bytes, "Name a file on a larger file system.");
  // A backup that was killed may have left this file.
  const part = `${target}.part`;
  removeDatabase(part);
  const look = () =>
    onStep("copy", bytes === 0 ? 1 : (statSync(part, { throwIfNoEntry: false })?.size ?? 0) / bytes);
  const timer = setInterval(look, LOOK_MS);
  try {
    // Inside the storage directory, give the file to the daemon's user. Elsewhere root keeps the file,
    // because it contains the hashes of keys.
    const isInside = folder.startsWith(dirname(source)) || isSameFile(folder, dirname(source));
    makePrivateFile(part, isInside ? dirname(source) : null);
    look();
    if (only === "state") await inWorker(signal, "copyDatabase", source, part, "live", STATE_MIGRATIONS);
    else await inWorker(signal, "copyBoth", paths, part);
    clearInterval(timer);
    onStep("check", null);
    const report = await inWorker(signal, "examineDatabase", part);
    syncToDisk(part);
    if (!force) refuseExisting(target);
    renameSync(part, target);
    syncToDisk(folder);
    return { ...report, path: target };
  } catch (error) {
    removeDatabase(part);
    throw asStoreError(error, target) ?? error;
  } finally {
    clearInterval(timer);
  }
}

function refuseTarget(target: string, directory: string, force: boolean): void {
  const folder = dirname(target);
  const refuse = (message: string, fix: string) => new StoreError("NOT_WRITABLE", message, fix);
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw refuse(`Directory not found: ${folder}`, `Create it (mkdir -p ${folder}).`);
  // Refuse these names even with --force: renaming onto the daemon's open database would destroy the
  // database.
  const isOwnName = /^(licmond\.lock|(licmond|state)\.db(-wal|-shm|-journal|\.copy|\.vital)?)$/;
  const isOwn =
    (isSameFile(folder, directory) && isOwnName.test(basename(target))) ||
    ["licmond.db", "state.db"].some((name) => isSameFile(join(directory, name), target));
  if (isOwn) throw refuse(`${target} is used by the daemon`, "Name another file.");
  if (statSync(target, { throwIfNoEntry: false })?.isFile() === false)
    throw refuse(`${target} is not a file`, "Name a file.");
  if (!force) refuseExisting(target);
}

function refuseExisting(target: string): void {
  if (!existsSync(target)) return;
  throw new StoreError("NOT_WRITABLE", `${target} already exists`, "Name another file, or use --force.");
}
