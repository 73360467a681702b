import { Database } from "bun:sqlite";
import { accessSync, constants, readdirSync, statSync } from "node:fs";
import { basename, dirname } from "node:path";
import { messageOf } from "../../domain/error-code.ts";
import type { Log } from "../../domain/log.ts";
import type { Migration } from "../migrations/migrations.ts";
import { createBusyWait, isBusy } from "./busy.ts";
import { ensurePrivateFile, fileSize } from "./files.ts";
import { assertOurs, schemaVersion } from "./migrate.ts";
import { asStoreError, errorCode, STORE_FAULTS, StoreError, type StoreErrorCode } from "./store-error.ts";
import { createTransaction, type RunTransaction } from "./transaction.ts";

/**
 * Reports whether the database can be read and written now. `message` contains no path, because every
 * caller may read the message.
 */
export interface DatabaseCheck {
  readonly ok: boolean;
  readonly message: string;
  readonly code: StoreErrorCode | null;
  /** True if the database works but needs an administrator, e.g. because a damaged file was moved aside. */
  readonly degraded?: boolean;
}

const WORKS: DatabaseCheck = { ok: true, message: "The database works", code: null };
const ASIDE = "The database works; a damaged one was moved aside and is still in the storage directory";

export type DatabaseFile = ReturnType<typeof createDatabaseFile>;

interface DatabaseFileOptions {
  readonly log: Log;
  /**
   * Maximum time that a write waits in its thread for another program's lock, see `createBusyWait`. Null
   * means 5 s and no retries.
   */
  readonly busyWaitMs: number | null;
  readonly onDamage: (error: StoreError) => void;
}

/**
 * Reads and writes one open file. Committed data survives if the process dies at any moment. `read` and
 * `transaction` throw all faults of SQLite or the disk as StoreErrors.
 */
export function createDatabaseFile(
  sqlite: Database,
  path: string,
  { log, busyWaitMs, onDamage }: DatabaseFileOptions,
) {
  const busy = createBusyWait(sqlite, busyWaitMs, log);
  const direct = createTransaction(sqlite);
  const dataVersion = sqlite.query<{ data_version: number }, []>("PRAGMA data_version");
  const anything = sqlite.query("SELECT count(*) FROM sqlite_schema");
  const opened = statSync(path).ino;
  let lastWriteError: StoreError | null = null;
  let damage: StoreError | null = null;
  let closed = false;

  function read<T>(query: () => T): T {
    if (closed) throw new StoreError("CLOSED", `The database ${path} is closed`, "Start licmond again.");
    try {
      return query();
    } catch (error) {
      const known = asStoreError(error, path);
      if (known?.code === "CORRUPT") metDamage(known);
      throw known ?? error;
    }
  }

  function metDamage(error: StoreError): void {
    if (damage !== null) return;
    damage = error;
    onDamage(error);
  }

  const transaction: RunTransaction = (work, options) => {
    const isWhole = closed || !sqlite.inTransaction;
    try {
      const result = read(() => {
        if (isWhole) busy.before();
        return direct(work, options);
      });
      if (isWhole) busy.after(null);
      lastWriteError = null;
      return result;
    } catch (error) {
      busy.after(error);
      if (error instanceof StoreError && (!isBusy(error) || busy.isTrouble())) lastWriteError = error;
      throw error;
    }
  };

  /**
   * Checks, without writing, that the opened file is still there and writable, that a page can be read,
   * that no query found damage, and that the last write succeeded. Every poll writes pictures, so the last
   * write is recent.
   */
  function checkDatabase(): DatabaseCheck {
    const failed = (code: StoreErrorCode) => ({ ok: false, message: STORE_FAULTS[code], code });
    if (closed) return failed("CLOSED");
    try {
      if (statSync(path, { throwIfNoEntry: false })?.ino !== opened)
        return { ok: false, message: "The database file was removed or replaced", code: null };
      accessSync(path, constants.R_OK | constants.W_OK);
      anything.get();
      const last = damage ?? lastWriteError;
      if (last !== null) return failed(last.code);
      const aside = `${basename(path)}.corrupt-`;
      const isAside = readdirSync(dirname(path)).some((name) => name.startsWith(aside));
      return isAside ? { ...WORKS, message: ASIDE, degraded: true } : WORKS;
    } catch (error) {
      const code = asStoreError(error, path)?.code;
      if (code !== undefined) return failed(code);
      return { ok: false, message: `The database cannot be read (${errorCode(error)})`, code: null };
    }
  }

  return {
    path,
    sqlite,
    schemaVersion: schemaVersion(sqlite),
    read,
    transaction,
    /** Changes whenever another connection, e.g. `licmond keys`, has written. */
    dataVersion: (): number => read(() => dataVersion.get()?.data_version ?? 0),
    sizeBytes: () => fileSize(path) + fileSize(`${path}-wal`),
    checkDatabase,
    busy,
    /** Records confirmed damage (`CORRUPT`) that another connection found, as if a query here had. */
    metDamage,
    /**
     * Closes the file. With `isLast`, writes the log back into the database. Does not throw. A second call
     * does nothing.
     */
    close(isLast: boolean): void {
      if (closed) return;
      closed = true;
      const steps = {
        optimize: () => sqlite.run("PRAGMA optimize"),
        // Only the last connection removes the write-ahead log; next to a daemon, the log stays in use by
        // the daemon.
        checkpoint: () => isLast && sqlite.run("PRAGMA wal_checkpoint(TRUNCATE)"),
        close: () => sqlite.close(),
      };
      for (const [step, work] of Object.entries(steps)) {
        try {
          work();
        } catch (error) {
          log.warn("Closing the database was not clean", { step, error: messageOf(error) });
        }
      }
    },
  };
}

/**
 * Opens or creates a file for writing. Checks first, so that a foreign file stays unchanged. Throws
 * StoreError.
 */
export function openConnection(path: string, migrations: readonly Migration[], log: Log | null): Database {
  let sqlite: Database | null = null;
  try {
    ensurePrivateFile(path);
    sqlite = new Database(path, { create: true, strict: true });
    sqlite.run("PRAGMA busy_timeout = 5000");
    assertOurs(sqlite, path, migrations);
    prepareConnection(sqlite, log);
    return sqlite;
  } catch (error) {
    sqlite?.close();
    throw asStoreError(error, path) ?? error;
  }
}

function prepareConnection(sqlite: Database, log: Log | null): void {
  const journal = sqlite.query<{ journal_mode: string }, []>("PRAGMA journal_mode = WAL").get()?.journal_mode;
  if (journal !== "wal") {
    log?.warn("The file system does not support SQLite's write-ahead log; use a local one", {
      journalMode: journal ?? null,
    });
  }
  // With WAL and NORMAL, a commit survives the death of the process, but a power cut may undo the last
  // commits. Changes of keys must survive a power cut, too, so their transactions are `durable`.
  sqlite.run("PRAGMA synchronous = NORMAL");
  sqlite.run("PRAGMA foreign_keys = ON");
  // Limit SQLite's page cache to 4 MB. With 16 MB, neither polls nor events nor searches were faster,
  // because the kernel caches the file anyway. As the database grew, the larger cache filled, so a day of
  // polls looked like a leak.
  sqlite.run("PRAGMA cache_size = -4000");
  sqlite.run("PRAGMA temp_store = MEMORY");
  // Write the log back every 1 MiB, which blocks the event loop for 2–3 ms. SQLite's default of 4 MiB
  // blocks it for 8 ms.
  sqlite.run("PRAGMA wal_autocheckpoint = 256");
  // Limit the size of the log file that remains after a burst (many first polls) to 32 MiB.
  sqlite.run("PRAGMA journal_size_limit = 33554432");
}
