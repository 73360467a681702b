import { Database } from "bun:sqlite";
import { statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { type BunSQLiteDatabase, drizzle } from "drizzle-orm/bun-sqlite";
import type { Log } from "../domain/log.ts";
import { backUpBeforeUpgrade } from "./backup/before-upgrade.ts";
import { type BusyWait, createBusyWait, isBusy } from "./busy.ts";
import { createDatabaseCheck, type DatabaseCheck } from "./check.ts";
import { prepareConnection } from "./connection.ts";
import { createDamageMark, type DamageMark } from "./damage/mark.ts";
import { openDespiteDamage } from "./damage/open-despite.ts";
import { ensureDirectory, ensurePrivateFile } from "./files.ts";
import { findLeftovers, removeLeftovers } from "./leftovers.ts";
import { type DirectoryLock, lockDirectory } from "./lock.ts";
import { assertOurs, migrate, schemaVersion } from "./migrate.ts";
import { MIGRATIONS, type Migration } from "./migrations.ts";
import { tables } from "./schema.ts";
import { asStoreError, errorCode, StoreError } from "./store-error.ts";
import { createTransaction, type RunTransaction } from "./transaction.ts";
import { withLock } from "./upgrade-lock.ts";
import { createVitalFile, type VitalFile } from "./vital/file.ts";
import { createVitalKeeper, type KeepOptions } from "./vital/keeper.ts";
import { takeUpVital } from "./vital/take-up.ts";

/**
 * The database of one storage directory: `licmond.db`. What was committed survives the death of the process at any
 * moment. Whatever SQLite or the disk does wrong comes out of `read` and `transaction` as a StoreError.
 */
export interface Store {
  readonly directory: string;
  readonly path: string;
  readonly db: BunSQLiteDatabase<typeof tables>;
  /** The connection behind `db`, for statements too hot for the query builder. Guard reads with `read` as well. */
  readonly sqlite: Database;
  readonly schemaVersion: number;
  /** Runs a query (or several) and turns the store's own faults into StoreErrors. */
  read<T>(query: () => T): T;
  readonly transaction: RunTransaction;
  /** Changes when another connection, e.g. `licmond keys` beside the daemon, has written. */
  dataVersion(): number;
  /** Bytes of the database with its write-ahead log. */
  sizeBytes(): number;
  checkDatabase(): DatabaseCheck;
  readonly busy: Pick<BusyWait, "patienceMs" | "isWorthWaiting" | "ending">;
  /** Notes damage (`CORRUPT`) that another connection met and that was confirmed, as if a query here had. */
  metDamage(error: StoreError): void;
  /**
   * Writes the side copy of what is vital (`licmond.db.vital`), as the transaction that runs sees it, or one of its own.
   * Throws StoreError; that the copy cannot be written is only logged, but see KeepOptions.
   */
  keepVital(options?: KeepOptions): void;
  /** Runs before the end, in reverse order: a last flush. */
  beforeClose(work: () => void): void;
  /** Writes the log back into the database and lets go of the directory. Does not throw; a second call does nothing. */
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
   * What a damaged file leads to: the error `CORRUPT`, or (only with the directory's lock) a new database, with what
   * could be rescued, and the damaged one beside it. `known` = damage was met just now, nothing has to be looked for.
   */
  readonly damaged?: "refuse" | "move-aside" | { readonly known: StoreError };
  /** How long a write waits for another program's lock, once it is open: see BusyWait. By default 5 s, in its thread. */
  readonly busyWaitMs?: number;
  /** Whether the database is copied before its schema is changed; yes by default. */
  readonly backUpBeforeUpgrade?: boolean;
  /** Called before work that may take long: what begins now, and how many bytes it goes over. */
  readonly onProgress?: (step: OpeningStep, bytes: number) => void;
  /** Epoch ms, for the names of files. */
  readonly now?: () => number;
}

export type OpeningStep = "check" | "copy" | "upgrade";

/** Opens, or makes, the database and brings it up to date. Throws StoreError. */
export function openStore(options: StoreOptions): Store {
  const { mode = "daemon", lockWaitMs = 2_000, damaged = "refuse", log, now = Date.now } = options;
  const directory = resolve(options.directory);
  const path = join(directory, "licmond.db");
  const lockPath = join(directory, "licmond.lock");
  ensureDirectory(directory);
  const takeLock = () => lockDirectory(directory, lockPath, lockWaitMs);
  const lock = mode === "daemon" ? takeLock() : null;
  const [mark, vital] = [createDamageMark(path), createVitalFile(path)];
  try {
    tidyUp(path, log, lock, takeLock);
    const open = () => openDatabase(options, { path, lock, takeLock, mark, vital });
    if (lock === null) return open();
    const { opened: store, hasLostCommits } =
      damaged === "refuse"
        ? { opened: open(), hasLostCommits: false }
        : openDespiteDamage(
            {
              path,
              log,
              mark,
              vital,
              migrations: options.migrations ?? MIGRATIONS,
              now: now(),
              known: typeof damaged === "object" ? damaged.known : null,
              onCheck: (bytes) => options.onProgress?.("check", bytes),
            },
            open,
          );
    try {
      takeUpVital(store, vital, log, hasLostCommits);
    } catch (error) {
      store.close();
      throw error;
    }
    return store;
  } catch (error) {
    lock?.release();
    throw asStoreError(error, path) ?? error;
  }
}

/** Takes away what one that was killed left. A command looks first: only who has something to take away wants the lock. */
function tidyUp(path: string, log: Log, held: DirectoryLock | null, takeLock: () => DirectoryLock): void {
  if (findLeftovers(path).length === 0) return;
  let lock = held;
  try {
    lock ??= takeLock();
  } catch (error) {
    // Whoever holds the directory may be at work on them.
    if (error instanceof StoreError && error.code === "HELD") return;
    throw error;
  }
  const removed = removeLeftovers(path);
  if (held === null) lock.release();
  if (removed.length > 0)
    log.warn("Files that a killed licmond left half made were removed", { files: removed.join(", ") });
}

interface Surroundings {
  readonly path: string;
  readonly lock: DirectoryLock | null;
  readonly takeLock: () => DirectoryLock;
  readonly mark: DamageMark;
  readonly vital: VitalFile;
}

function openDatabase(options: StoreOptions, surroundings: Surroundings): Store {
  const { path, lock, takeLock } = surroundings;
  const { log, migrations = MIGRATIONS, onProgress, now = Date.now } = options;
  let opened: Database | null = null;
  try {
    ensurePrivateFile(path);
    const sqlite = new Database(path, { create: true, strict: true });
    opened = sqlite;
    // First look, then touch: a file that is not ours stays as it is.
    sqlite.run("PRAGMA busy_timeout = 5000");
    assertOurs(sqlite, path, migrations);
    prepareConnection(sqlite, log);
    const bringUpToDate = () => {
      const [from, to] = [schemaVersion(sqlite), migrations.length];
      if (from > 0 && from < to) {
        onProgress?.("copy", fileSize(path));
        if (options.backUpBeforeUpgrade !== false)
          backUpBeforeUpgrade(path, { from, to }, { now: now(), log });
        onProgress?.("upgrade", fileSize(path));
      }
      migrate(sqlite, path, migrations);
    };
    if (lock !== null) bringUpToDate();
    else if (schemaVersion(sqlite) < migrations.length) withLock(sqlite, migrations, takeLock, bringUpToDate);
    return assemble(sqlite, surroundings, options);
  } catch (error) {
    opened?.close();
    throw asStoreError(error, path) ?? error;
  }
}

function assemble(
  sqlite: Database,
  { path, lock, mark, vital }: Surroundings,
  { log, now = Date.now, busyWaitMs }: StoreOptions,
): Store {
  const busy = createBusyWait(sqlite, busyWaitMs ?? null, log);
  const direct = createTransaction({
    sqlite,
    onEffectError: (error) => log.error("Work after a commit failed", { error: String(error) }),
  });
  const transaction: RunTransaction = (work, options) => {
    try {
      return guarded(() => {
        const isWhole = !sqlite.inTransaction;
        if (isWhole) busy.before();
        const result = direct(work, options);
        if (isWhole) busy.after(null);
        return result;
      });
    } catch (error) {
      busy.after(error);
      throw error;
    }
  };
  const dataVersion = sqlite.query<{ data_version: number }, []>("PRAGMA data_version");
  let lastWriteError: StoreError | null = null;
  let damage: StoreError | null = null;
  let closed = false;
  const endings: (() => void)[] = [];

  function guarded<T>(work: () => T): T {
    if (closed) throw new StoreError("CLOSED", `The database ${path} is closed`, "Start licmond again.");
    try {
      return work();
    } catch (error) {
      const known = asStoreError(error, path);
      if (known?.code === "CORRUPT") met(known);
      throw known ?? error;
    }
  }

  /** Damage does not go away by itself: it is told until the next start, which sees to it. */
  function met(error: StoreError): void {
    if (damage !== null) return;
    damage = error;
    mark.leave(error.message);
    log.error("A query met damage in the database: the next start looks at all of it, and moves it aside", {
      fix: "Restart licmond (systemctl restart licmond); a backup is put back with licmond restore",
    });
  }

  const keep = createVitalKeeper({ sqlite, vital, path, log, now, isDamaged: () => damage !== null });
  // No write of the database: it says nothing of whether the last one of those went well.
  const keepVital = (options?: KeepOptions) =>
    guarded(() => (sqlite.inTransaction ? keep(options) : transaction(() => keep(options))));
  const check = createDatabaseCheck({ sqlite, path, lastError: () => damage ?? lastWriteError });
  const attempt = (what: string, work: () => void) => {
    try {
      work();
    } catch (error) {
      log.warn("Closing the database was not clean", {
        step: what,
        error: error instanceof Error ? error.message : String(error),
      });
    }
  };

  return {
    directory: dirname(path),
    path,
    db: drizzle(sqlite, { schema: tables }),
    sqlite,
    schemaVersion: schemaVersion(sqlite),
    read: guarded,
    transaction: (work, options) => {
      try {
        const result = transaction(work, options);
        lastWriteError = null;
        return result;
      } catch (error) {
        if (error instanceof StoreError && (!isBusy(error) || busy.isTrouble())) lastWriteError = error;
        throw error;
      }
    },
    dataVersion: () => guarded(() => dataVersion.get()?.data_version ?? 0),
    sizeBytes: () => fileSize(path) + fileSize(`${path}-wal`),
    busy,
    metDamage: met,
    keepVital,
    checkDatabase: () =>
      closed ? { ok: false, message: "The database is closed", code: "CLOSED" } : check(),
    beforeClose: (work) => void endings.push(work),
    close() {
      if (closed) return;
      for (const ending of endings.reverse()) attempt("flush", ending);
      if (lock !== null) attempt("side copy", () => keepVital());
      closed = true;
      attempt("optimize", () => sqlite.run("PRAGMA optimize"));
      // The last connection takes the write-ahead log with it; beside a daemon it stays the daemon's.
      if (lock !== null) attempt("checkpoint", () => sqlite.run("PRAGMA wal_checkpoint(TRUNCATE)"));
      attempt("close", () => sqlite.close());
      if (lock !== null) attempt("unlock", () => lock.release());
    },
  };
}

function fileSize(path: string): number {
  try {
    return statSync(path).size;
  } catch (error) {
    if (errorCode(error) === "ENOENT") return 0;
    throw error;
  }
}
