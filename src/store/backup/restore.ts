import { Database } from "bun:sqlite";
import { existsSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { ensureDirectory, isSameFile, makePrivateFile, refuseOther, syncToDisk } from "../files.ts";
import { removeLeftovers } from "../leftovers.ts";
import { lockDirectory } from "../lock.ts";
import { assertOurs } from "../migrate.ts";
import { MIGRATIONS } from "../migrations.ts";
import { asStoreError, StoreError } from "../store-error.ts";
import { createVitalFile, type VitalFile } from "../vital/file.ts";
import { readVitalRows } from "../vital/rows.ts";
import type { OnStep } from "./back-up.ts";
import {
  type Carried,
  type CarriedOver,
  carriedIn,
  carryOver,
  NOTHING_CARRIED,
  readCarried,
} from "./carry-over.ts";
import { assertFile, type DatabaseReport } from "./examine.ts";
import { exchange, removeDatabase } from "./exchange.ts";
import { requireRoom } from "./room.ts";
import { unlessAborted } from "./unless-aborted.ts";
import { openUntouched } from "./untouched.ts";
import { copyInWorker, examineInWorker } from "./worker.ts";

export interface RestoreOptions {
  /** The storage directory. */
  readonly directory: string;
  readonly file: string;
  /** Epoch ms. */
  readonly now: number;
  readonly onStep: OnStep;
  readonly signal: AbortSignal;
}

export interface Restored extends CarriedOver {
  /** Of what was put in place. */
  readonly report: DatabaseReport;
  /** Where the database that was there is now; null when there was none. */
  readonly aside: string | null;
  /** Why that one could not be read; null when it could. */
  readonly unread: { readonly reason: string; readonly keysFrom: "side copy" | null } | null;
  /** Files that an earlier one, which was killed, left half made: removed. */
  readonly leftovers: readonly string[];
}

/**
 * Puts a copy of a backup in the place of the database of a storage directory that no daemon works on. What was there
 * is moved aside, never deleted. Until the last step, which is one rename, nothing has changed; a crash at any moment
 * leaves the one or the other database, whole. Throws StoreError, or the reason of `signal`.
 */
export async function restore({ directory, file, now, onStep, signal }: RestoreOptions): Promise<Restored> {
  const folder = resolve(directory);
  const from = resolve(file);
  const path = join(folder, "licmond.db");
  assertFile(from);
  ensureDirectory(folder);
  const lock = lockDirectory(folder, join(folder, "licmond.lock"), 0);
  const fresh = `${path}.restoring`;
  try {
    if (isSameFile(from, path))
      throw new StoreError("IO", `${from} is the database itself`, "Name a backup of it.");
    onStep("check", null);
    await unlessAborted(signal, examineInWorker(from));
    // Nobody else can be at work on it: what is there was left by one that was killed.
    const leftovers = removeLeftovers(path);
    requireRoom(folder, bytesIn(from), "Free space on its file system.");
    makePrivateFile(fresh, folder);
    onStep("copy", null);
    await unlessAborted(signal, copyInWorker(from, fresh, "file"));
    const vital = createVitalFile(path);
    const { carried, unread } = existsSync(path)
      ? settle(path, now, vital)
      : { carried: NOTHING_CARRIED, unread: null };
    const over = finish(fresh, carried, now);
    onStep("check", null);
    const report = await unlessAborted(signal, examineInWorker(fresh));
    syncToDisk(fresh);
    const aside = exchange(fresh, path, "replaced", now);
    copyVital(path, vital, now);
    return { report: { ...report, path }, aside, unread, leftovers, ...over };
  } catch (error) {
    removeDatabase(fresh);
    throw asStoreError(error, path) ?? error;
  } finally {
    lock.release();
  }
}

function bytesIn(from: string): number {
  const wal = statSync(`${from}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  return statSync(from).size + wal;
}

/**
 * Reads what must be carried over from the present database, and brings it into its one file: changing the journal's
 * mode writes the log back, and fails as long as anybody else, e.g. `licmond keys`, has the database open.
 * A damaged one stays as it is. Throws StoreError `FOREIGN` and `BUSY`.
 */
function settle(
  path: string,
  now: number,
  vital: VitalFile,
): { carried: Carried; unread: Restored["unread"] } {
  refuseOther(path);
  let sqlite: Database | null = null;
  try {
    sqlite = new Database(path, { readwrite: true, strict: true });
    sqlite.run("PRAGMA busy_timeout = 5000");
    refuseForeign(sqlite, path);
    const carried = readCarried(sqlite, now);
    sqlite.query("PRAGMA journal_mode = DELETE").get();
    return { carried, unread: null };
  } catch (error) {
    const known = asStoreError(error, path);
    if (known === null) throw error;
    if (known.code !== "CORRUPT") throw known;
    const copy = vital.read().vital;
    const carried = copy === null ? NOTHING_CARRIED : carriedIn(copy.rows, now);
    return { carried, unread: { reason: known.message, keysFrom: copy === null ? null : "side copy" } };
  } finally {
    sqlite?.close();
  }
}

/** One that a newer licmond wrote is replaced: going back is what a backup is for. */
function refuseForeign(sqlite: Database, path: string): void {
  try {
    assertOurs(sqlite, path, MIGRATIONS);
  } catch (error) {
    if (!(error instanceof StoreError) || error.code !== "NEWER") throw error;
  }
}

/** The side copy is of the database that was put in place: that of the one before must not undo the restore. */
function copyVital(path: string, vital: VitalFile, now: number): void {
  let sqlite: Database | null = null;
  try {
    sqlite = openUntouched(path);
    vital.write(readVitalRows(sqlite), now);
  } catch {
    // The next start writes it.
    vital.remove();
  } finally {
    sqlite?.close();
  }
}

function finish(fresh: string, carried: Carried, now: number): CarriedOver {
  const sqlite = new Database(fresh, { readwrite: true, strict: true });
  try {
    sqlite.run("PRAGMA synchronous = FULL");
    return carryOver(sqlite, carried, now);
  } finally {
    sqlite.close();
  }
}
