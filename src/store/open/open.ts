import type { Database } from "bun:sqlite";
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { Log } from "../../domain/log.ts";
import { isBusy } from "../database/busy.ts";
import { createDatabaseFile, type DatabaseFile, type Db, openConnection } from "../database/database-file.ts";
import { ensureDirectory, type Paths, pathsOf } from "../database/files.ts";
import { type DirectoryLock, lockDirectory, withLock } from "../database/lock.ts";
import { schemaVersion } from "../database/migrate.ts";
import { asStoreError } from "../database/store-error.ts";
import { MIGRATIONS, type Migration, STATE_MIGRATIONS } from "../migrations/migrations.ts";
import { type OpeningStep, type Prepared, prepareFiles } from "./prepare.ts";
import { noteDamage } from "./start-check.ts";
import { createStateFile, type StateFile } from "./state.ts";

/** The two databases of one storage directory: `licmond.db`, which this is, and `state.db`. */
export interface Store extends Omit<DatabaseFile, "close"> {
  readonly directory: string;
  readonly state: StateFile;
  /** Writes to state.db once the transaction that runs is committed: rows that both files have. */
  inState(work: (state: Db) => void): void;
  /** Writes the same to both: here in the transaction that runs, to state.db once that is committed. */
  inBoth(work: (each: Db) => void): void;
  /** Writes the logs back into the databases and lets go of the directory. Does not throw; a second call does nothing. */
  close(): void;
}

export interface StoreOptions {
  readonly directory: string;
  readonly log: Log;
  /** `daemon` holds the directory against a second daemon; `cli` works beside one. */
  readonly mode?: "daemon" | "cli";
  /** How long to wait for a daemon that is just ending. */
  readonly lockWaitMs?: number;
  readonly migrations?: readonly Migration[];
  /**
   * What a damaged file leads to: the error `CORRUPT`, or the damaged file beside what takes its place, which is the copy
   * of state.db, or a new licmond.db.
   */
  readonly damaged?: "refuse" | "move-aside";
  /** How long a write waits for another program's lock, once it is open: see BusyWait. By default 5 s, in its thread. */
  readonly busyWaitMs?: number;
  /** Whether the databases are copied before their schema is changed; yes by default. */
  readonly backUpBeforeUpgrade?: boolean;
  /** Called before work that may take long: what begins now, and how many bytes it goes over. */
  readonly onProgress?: (step: OpeningStep, bytes: number) => void;
  /** Epoch ms, for the names of files. */
  readonly now?: () => number;
}

/** Opens, or makes, the databases and brings them up to date. Throws StoreError. */
export function openStore(options: StoreOptions): Store {
  const { mode = "daemon", lockWaitMs = 2_000, migrations = MIGRATIONS, log, now = Date.now } = options;
  const directory = resolve(options.directory);
  const paths = pathsOf(directory);
  ensureDirectory(directory);
  const takeLock = () => lockDirectory(directory, paths.lock, lockWaitMs);
  const lock = mode === "daemon" ? takeLock() : null;
  const prepare = () =>
    prepareFiles({
      paths,
      log,
      migrations,
      // A command refuses what is damaged: the daemon sees to it.
      damaged: lock === null ? "refuse" : (options.damaged ?? "refuse"),
      backUpBeforeUpgrade: options.backUpBeforeUpgrade ?? true,
      onProgress: options.onProgress ?? (() => {}),
      now: now(),
    });
  try {
    // A daemon that holds the directory may just have prepared them: the second look is for that.
    const opened = lock !== null ? prepare() : (openReady(paths, migrations, log) ?? openLocked());
    return assemble(opened, directory, paths, lock, log, options.busyWaitMs ?? null);
  } catch (error) {
    lock?.release();
    throw asStoreError(error, paths.history) ?? error;
  }

  function openLocked(): Prepared {
    try {
      return withLock(takeLock, prepare);
    } catch (error) {
      const opened = openReady(paths, migrations, log);
      if (opened === null) throw error;
      return opened;
    }
  }
}

/** Both files, where they are there and up to date; null where they must be prepared first. Throws StoreError. */
function openReady(paths: Paths, migrations: readonly Migration[], log: Log): Prepared | null {
  if (!existsSync(paths.history) || !existsSync(paths.state)) return null;
  const isCurrent = (sqlite: Database, wanted: readonly Migration[]) =>
    schemaVersion(sqlite) === wanted.length;
  const history = openConnection(paths.history, migrations, log);
  let state: Database | null = null;
  try {
    state = openConnection(paths.state, STATE_MIGRATIONS, log);
    if (isCurrent(history, migrations) && isCurrent(state, STATE_MIGRATIONS))
      return { history, state, notice: null };
  } catch (error) {
    history.close();
    throw error;
  }
  history.close();
  state.close();
  return null;
}

function assemble(
  { history, state: stateConnection, notice }: Prepared,
  directory: string,
  paths: Paths,
  lock: DirectoryLock | null,
  log: Log,
  busyWaitMs: number | null,
): Store {
  const fix = "Restart licmond (systemctl restart licmond); a backup is put back with licmond restore";
  const file = createDatabaseFile(history, paths.history, {
    log,
    busyWaitMs,
    onDamage(error) {
      noteDamage(paths.history, error.message);
      log.error("A query met damage in the database: the next start looks at all of it, and moves it aside", {
        fix,
      });
    },
  });
  const stateFile = createDatabaseFile(stateConnection, paths.state, {
    log,
    busyWaitMs,
    onDamage: () =>
      log.error("A query met damage in state.db: the next start puts its copy in its place", { fix }),
  });
  const state = createStateFile(stateFile, paths.stateCopy, log);
  let closed = false;
  try {
    if (lock !== null) state.settle(file);
  } catch (error) {
    // Another program has a database locked: the next start does it.
    if (!isBusy(error)) throw error;
  }

  const inState: Store["inState"] = (work) =>
    file.transaction(({ after }) => after(() => state.follow(work)));
  return {
    ...file,
    directory,
    state,
    inState,
    inBoth(work) {
      work(file.db);
      inState(work);
    },
    sizeBytes: () => file.sizeBytes() + state.sizeBytes(),
    checkDatabase() {
      const checks = [file.checkDatabase(), state.checkDatabase()] as const;
      const wrong = checks.find(({ ok }) => !ok) ?? checks.find(({ degraded }) => degraded);
      if (wrong !== undefined || notice === null) return wrong ?? checks[0];
      return { ok: true, message: notice, code: null, degraded: true };
    },
    close() {
      if (closed) return;
      closed = true;
      file.close(lock !== null);
      state.close(lock !== null);
      lock?.release();
    },
  };
}
