import { Database } from "bun:sqlite";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import type { Log } from "../../domain/log.ts";
import { openConnection } from "../database/database-file.ts";
import {
  ensureDirectory,
  exchange,
  fileSize,
  isSameFile,
  makeFresh,
  type Paths,
  pathsOf,
  refuseOther,
  removeDatabase,
  removeLeftovers,
  requireSpace,
} from "../database/files.ts";
import { APPLICATION_ID, assertOurs, schemaVersion } from "../database/migrate.ts";
import { replaceAlerts, stateOf } from "../database/precious.ts";
import { openReader } from "../database/read-only.ts";
import { asStoreError, StoreError } from "../database/store-error.ts";
import { MIGRATIONS, STATE_MIGRATIONS } from "../migrations/migrations.ts";
import { copiesOf, upgradeFinished } from "../open/before-upgrade.ts";
import { lockDirectory } from "../open/open.ts";
import { type CarriedOver, carryOver, putState, repairState, takeInState } from "../open/state.ts";
import type { OnStep } from "./back-up.ts";
import { type DatabaseReport, inWorker } from "./worker.ts";

interface RestoreOptions {
  readonly directory: string;
  readonly file: string;
  readonly now: number;
  readonly log?: Log;
  readonly onStep?: OnStep;
  readonly signal?: AbortSignal;
}

export interface Restored extends CarriedOver {
  readonly report: DatabaseReport;
  /** Path of the replaced database; null if there was none. */
  readonly aside: string | null;
}

const NO_LOG: Log = { debug() {}, info() {}, warn() {}, error() {} };

/**
 * Replaces the databases of a storage directory with a copy of a backup; no daemon may use the directory. A
 * backup of state.db replaces only state.db. The old files are moved aside, never deleted. The restore
 * takes effect with a single rename. A crash before the rename changes nothing; after a later crash, the
 * next start completes the restore. Throws StoreError, or the reason of `signal`.
 */
export async function restore({
  directory,
  file,
  now,
  log = NO_LOG,
  onStep = () => {},
  signal = new AbortController().signal,
}: RestoreOptions): Promise<Restored> {
  const paths = pathsOf(directory);
  const folder = dirname(paths.history);
  const from = resolve(file);
  ensureDirectory(folder);
  const lock = lockDirectory(paths, 0);
  const fresh = `${paths.history}.restoring`;
  try {
    if ([paths.history, paths.state].some((path) => isSameFile(from, path)))
      throw new StoreError("IO", `${from} is the database itself`, "Name a backup of it.");
    onStep("check", null);
    const { isState } = await inWorker(signal, "examineDatabase", from);
    removeLeftovers(folder);
    requireSpace(folder, fileSize(from) + fileSize(`${from}-wal`), "Free space on its file system.");
    makeFresh(fresh);
    onStep("copy", null);
    await inWorker(signal, "copyDatabase", from, fresh, "file", isState ? STATE_MIGRATIONS : MIGRATIONS);
    onStep("check", null);
    const report = await inWorker(signal, "examineDatabase", fresh);
    checkPresent(paths, log, now);
    if (!isState) {
      const aside = exchange(fresh, paths.history, "replaced", now);
      upgradeFinished(paths);
      return { report: { ...report, path: paths.history }, aside, ...takeIn(paths, true, now) };
    }
    const state = stateOf(readFileSync(fresh));
    // Sessions that were signed out since the backup must not become valid again.
    state.run("DELETE FROM sign_ins");
    removeDatabase(fresh);
    // Keep the present alerts, because a backup of keys must not bring back ended alerts and delivered
    // messages.
    if (existsSync(paths.state)) replaceAlerts(state, paths.state);
    const carried = carryOver(state, paths.state, 0, false);
    const aside = putState(paths, state, "replaced", now);
    return { report: { ...report, path: paths.state }, aside, ...carried };
  } catch (error) {
    removeDatabase(fresh);
    throw asStoreError(error, paths.history) ?? error;
  } finally {
    lock.release();
  }
}

/**
 * Checks that the present state.db can be read, because revocations are carried over from this file, and
 * that no other program has licmond.db open. The second check changes the journal mode of licmond.db, which
 * fails if another program uses the file and otherwise merges the write-ahead log into the file. Damaged
 * files and files from a newer licmond stay unchanged. Throws StoreError `FOREIGN` and `BUSY`.
 */
function checkPresent(paths: Paths, log: Log, now: number): void {
  const tolerate = (work: () => void) => {
    try {
      work();
    } catch (error) {
      const known = asStoreError(error, paths.history);
      if (known?.code !== "CORRUPT" && known?.code !== "NEWER") throw known ?? error;
    }
  };
  tolerate(() => {
    if (repairState(paths, true, log, now) === "none") takeIn(paths, false, now);
  });
  if (!existsSync(paths.history)) return;
  refuseOther(paths.history);
  using sqlite = new Database(paths.history, { readwrite: true, strict: true });
  tolerate(() => {
    sqlite.run("PRAGMA busy_timeout = 5000");
    assertOurs(sqlite, paths.history, MIGRATIONS);
    sqlite.query("PRAGMA journal_mode = DELETE").get();
  });
}

function takeIn(paths: Paths, isRestored: boolean, now: number): CarriedOver {
  using history = existsSync(paths.history) ? openConnection(paths.history, MIGRATIONS, null) : null;
  return takeInState(paths, history, isRestored, now);
}

export type WayBack =
  | { readonly kind: "none" }
  | { readonly kind: "copy"; readonly database: string; readonly copy: string }
  | { readonly kind: "lost"; readonly database: string };

/**
 * Finds the copy that the migration left next to the database (`licmond.db.schema-<n>-<time>`) if an older
 * licmond rejects the migrated database. `accepts` reports whether the older licmond accepts a database. It
 * is called with an empty database of the same schema, because reading a large one takes minutes.
 */
export async function wayBack(
  directory: string,
  accepts: (file: string) => Promise<boolean>,
): Promise<WayBack> {
  const database = pathsOf(directory).history;
  if (!existsSync(database) || (await isAccepted(database, accepts))) return { kind: "none" };
  for (const copy of copiesOf(database))
    if (await isAccepted(copy, accepts)) return { kind: "copy", database, copy };
  return { kind: "lost", database };
}

export async function restoreCopy({ database, copy }: { database: string; copy: string }): Promise<void> {
  await restore({ directory: dirname(database), file: copy, now: Date.now() });
}

async function isAccepted(path: string, accepts: (file: string) => Promise<boolean>): Promise<boolean> {
  const folder = await mkdtemp(join(tmpdir(), "licmond-schema-"));
  try {
    using sqlite = openReader(path);
    const file = join(folder, "empty.db");
    const empty = new Database(file, { create: true });
    empty.run(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${schemaVersion(sqlite)}`);
    empty.close();
    return await accepts(file);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
