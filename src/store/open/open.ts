import { Database } from "bun:sqlite";
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import type { Log } from "../../domain/log.ts";
import { createDatabaseFile, type DatabaseCheck, openConnection } from "../database/database-file.ts";
import { ensureDirectory, ensurePrivateFile, type Paths, pathsOf } from "../database/files.ts";
import { schemaVersion } from "../database/migrate.ts";
import { asStoreError, errorCode, StoreError } from "../database/store-error.ts";
import { MIGRATIONS, STATE_MIGRATIONS } from "../migrations/migrations.ts";
import { type Prepared, type PrepareOptions, prepareFiles } from "./prepare.ts";
import { noteDamage } from "./start-check.ts";
import { createStateFile } from "./state.ts";

/** The two databases of one storage directory: `licmond.db` (this object) and `state.db`. */
export type Store = ReturnType<typeof assemble>;

export interface StoreOptions extends PrepareOptions {
  readonly directory: string;
  /** `daemon` locks the directory against a second daemon; `cli` works next to a daemon. */
  readonly mode?: "daemon" | "cli";
  readonly lockWaitMs?: number;
  /**
   * Maximum time that a write waits in its thread for another program's lock, see `createBusyWait`.
   * Default: 5 s and no retries.
   */
  readonly busyWaitMs?: number;
}

export function openStore(options: StoreOptions): Store {
  const { directory, mode = "daemon", lockWaitMs, log, busyWaitMs = null } = options;
  const paths = pathsOf(directory);
  ensureDirectory(dirname(paths.history));
  const lock = mode === "daemon" ? lockDirectory(paths, lockWaitMs) : null;
  try {
    const opened = lock === null ? openForCommand(paths, options) : prepareFiles(paths, options);
    return assemble(opened, paths, lock, log, busyWaitMs);
  } catch (error) {
    lock?.release();
    throw asStoreError(error, paths.history) ?? error;
  }
}

/**
 * Opens the databases for a command, which must not change files in use by a daemon. Refuses damaged files,
 * which only the daemon repairs.
 */
function openForCommand(paths: Paths, options: StoreOptions): Prepared {
  const ready = openReady(paths, options);
  if (ready !== null) return ready;
  let lock: DirectoryLock | null = null;
  try {
    lock = lockDirectory(paths, options.lockWaitMs);
    return prepareFiles(paths, { ...options, damaged: "refuse" });
  } catch (error) {
    if (!(error instanceof StoreError) || error.code !== "HELD") throw error;
    // The daemon that holds the directory may have just prepared the files.
    const opened = openReady(paths, options);
    if (opened !== null) return opened;
    throw new StoreError(
      "HELD",
      `${error.message}, with an older version of licmond or without one of its files`,
      "Restart the daemon with this version first (systemctl restart licmond).",
      error,
    );
  } finally {
    lock?.release();
  }
}

/** Opens both files if they exist and are up to date; returns null if they must be prepared first. Throws StoreError. */
function openReady(paths: Paths, { migrations = MIGRATIONS, log }: StoreOptions): Prepared | null {
  if (!existsSync(paths.history) || !existsSync(paths.state)) return null;
  using opened = new DisposableStack();
  const history = opened.use(openConnection(paths.history, migrations, log));
  const state = opened.use(openConnection(paths.state, STATE_MIGRATIONS, log));
  if (schemaVersion(history) !== migrations.length || schemaVersion(state) !== STATE_MIGRATIONS.length)
    return null;
  opened.move();
  return { history, state, notice: null };
}

function assemble(
  { history, state: stateConnection, notice }: Prepared,
  paths: Paths,
  lock: DirectoryLock | null,
  log: Log,
  busyWaitMs: number | null,
) {
  const fix = "Restart licmond (systemctl restart licmond); licmond restore puts a backup in place";
  const file = createDatabaseFile(history, paths.history, {
    log,
    busyWaitMs,
    onDamage(error) {
      noteDamage(paths.history, error.message);
      log.error("A query found damage in the database: the next start checks all of it and moves it aside", {
        fix,
      });
    },
  });
  const stateFile = createDatabaseFile(stateConnection, paths.state, {
    log,
    busyWaitMs,
    onDamage: () =>
      log.error("A query found damage in state.db: the next start replaces it with its copy", { fix }),
  });
  const state = createStateFile(stateFile, paths.stateCopy, log);
  let closed = false;
  if (lock !== null) state.copyIfOld();
  return {
    ...file,
    directory: dirname(paths.history),
    state,
    sizeBytes: () => file.sizeBytes() + state.sizeBytes(),
    checkDatabase(): DatabaseCheck {
      const checks = [file.checkDatabase(), state.checkDatabase()] as const;
      const wrong = checks.find(({ ok }) => !ok) ?? checks.find(({ degraded }) => degraded);
      if (wrong !== undefined || notice === null) return wrong ?? checks[0];
      return { ok: true, message: notice, code: null, degraded: true };
    },
    /**
     * Writes the logs back into the databases and releases the directory. Does not throw; a second call
     * does nothing.
     */
    close(): void {
      if (closed) return;
      closed = true;
      file.close(lock !== null);
      state.close(lock !== null);
      lock?.release();
    },
  };
}

type DirectoryLock = ReturnType<typeof lockDirectory>;

/**
 * Makes this process the only licmond that works on a storage directory. The lock is an open write
 * transaction on an empty database; the kernel releases the lock when the process ends, even by `kill -9`.
 * `user_version` is the process id of the holder. Throws StoreError `HELD` if another process still holds
 * the lock after `waitMs`.
 */
export function lockDirectory({ lock: path }: Paths, waitMs = 2_000) {
  ensurePrivateFile(path);
  const lock = new Database(path, { create: true, strict: true });
  try {
    lock.run(`PRAGMA busy_timeout = ${waitMs}`);
    try {
      lock.run(`PRAGMA user_version = ${process.pid}`);
    } catch (error) {
      // The process id is used only in messages, so a full disk must not prevent the start.
      if (errorCode(error) !== "SQLITE_FULL") throw error;
    }
    lock.run("BEGIN IMMEDIATE");
  } catch (error) {
    const known = asStoreError(error, path);
    const holder = known?.code === "BUSY" ? schemaVersion(lock) : 0;
    lock.close();
    if (known?.code !== "BUSY") throw known ?? error;
    const who = holder === 0 ? "Another licmond" : `Another licmond (process ${holder})`;
    throw new StoreError(
      "HELD",
      `${who} uses the storage directory ${dirname(path)}`,
      "Stop it first (systemctl stop licmond), or give this one a storage.directory of its own.",
      error,
    );
  }
  return {
    release(): void {
      if (lock.inTransaction) lock.run("ROLLBACK");
      lock.close();
    },
  };
}
