import { Database } from "bun:sqlite";
import { statSync } from "node:fs";
import { join, resolve } from "node:path";
import { type BunSQLiteDatabase, drizzle } from "drizzle-orm/bun-sqlite";
import type { Log } from "../domain/log.ts";
import { createDatabaseCheck, type DatabaseCheck } from "./check.ts";
import { ensureDirectory, ensurePrivateFile } from "./files.ts";
import { type DirectoryLock, lockDirectory } from "./lock.ts";
import { assertOurs, migrate, schemaVersion } from "./migrate.ts";
import { MIGRATIONS, type Migration } from "./migrations.ts";
import { tables } from "./schema.ts";
import { asStoreError, errorCode, StoreError } from "./store-error.ts";
import { createTransaction, type RunTransaction } from "./transaction.ts";

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
}

/** Opens, or makes, the database and brings it up to date. Throws StoreError. */
export function openStore(options: StoreOptions): Store {
  const { log, mode = "daemon", lockWaitMs = 2_000, migrations = MIGRATIONS } = options;
  const directory = resolve(options.directory);
  const path = join(directory, "licmond.db");
  const lockPath = join(directory, "licmond.lock");
  ensureDirectory(directory);
  const lock = mode === "daemon" ? lockDirectory(directory, lockPath, lockWaitMs) : null;
  let opened: Database | null = null;
  try {
    ensurePrivateFile(path);
    const sqlite = new Database(path, { create: true, strict: true });
    opened = sqlite;
    // First look, then touch: a file that is not ours stays as it is.
    sqlite.run("PRAGMA busy_timeout = 5000");
    assertOurs(sqlite, path, migrations);
    prepareConnection(sqlite, log);
    const bringUpToDate = () => migrate(sqlite, path, migrations);
    if (lock !== null) bringUpToDate();
    else if (schemaVersion(sqlite) < migrations.length) {
      withLock(sqlite, migrations, () => lockDirectory(directory, lockPath, lockWaitMs), bringUpToDate);
    }
    return assemble(sqlite, lock, directory, path, log);
  } catch (error) {
    opened?.close();
    lock?.release();
    throw asStoreError(error, path) ?? error;
  }
}

/** Every setting of a connection, in one place. See https://sqlite.org/pragma.html */
function prepareConnection(sqlite: Database, log: Log): void {
  // Readers and the writer do not wait for each other.
  const journal = sqlite.query<{ journal_mode: string }, []>("PRAGMA journal_mode = WAL").get()?.journal_mode;
  if (journal !== "wal") {
    log.warn("The file system does not take SQLite's write-ahead log: use a local one", {
      journalMode: journal ?? null,
    });
  }
  // With WAL a commit survives the death of the process in NORMAL; only a power cut may undo the last ones.
  // What must survive that too (keys) asks for a durable transaction.
  sqlite.run("PRAGMA synchronous = NORMAL");
  sqlite.run("PRAGMA foreign_keys = ON");
  sqlite.run("PRAGMA cache_size = -16000");
  sqlite.run("PRAGMA temp_store = MEMORY");
  // Every 1 MiB the log is written back: the event loop stands still meanwhile (2–3 ms; 8 ms with SQLite's 4 MiB).
  sqlite.run("PRAGMA wal_autocheckpoint = 256");
  // A burst (many first polls) must not leave a log file of its size for ever.
  sqlite.run("PRAGMA journal_size_limit = 33554432");
}

/** A command beside a running daemon of an older version must not change the tables under it. */
function withLock(
  sqlite: Database,
  migrations: readonly Migration[],
  take: () => DirectoryLock,
  work: () => void,
): void {
  let lock: DirectoryLock;
  try {
    lock = take();
  } catch (error) {
    if (!(error instanceof StoreError) || error.code !== "HELD") throw error;
    // The daemon that holds it may just have brought the database up to date.
    if (schemaVersion(sqlite) === migrations.length) return;
    throw new StoreError(
      "HELD",
      `${error.message}, with an older version of licmond`,
      "Restart the daemon with this version first (systemctl restart licmond).",
      error,
    );
  }
  try {
    work();
  } finally {
    lock.release();
  }
}

function assemble(
  sqlite: Database,
  lock: DirectoryLock | null,
  directory: string,
  path: string,
  log: Log,
): Store {
  const transaction = createTransaction({
    sqlite,
    onEffectError: (error) => log.error("Work after a commit failed", { error: String(error) }),
  });
  const dataVersion = sqlite.query<{ data_version: number }, []>("PRAGMA data_version");
  let lastWriteError: StoreError | null = null;
  let closed = false;
  const endings: (() => void)[] = [];

  function guarded<T>(work: () => T): T {
    if (closed) throw new StoreError("CLOSED", `The database ${path} is closed`, "Start licmond again.");
    try {
      return work();
    } catch (error) {
      throw asStoreError(error, path) ?? error;
    }
  }

  const check = createDatabaseCheck({ sqlite, path, lastWriteError: () => lastWriteError });
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
    directory,
    path,
    db: drizzle(sqlite, { schema: tables }),
    sqlite,
    schemaVersion: schemaVersion(sqlite),
    read: guarded,
    transaction: (work, options) => {
      try {
        const result = guarded(() => transaction(work, options));
        lastWriteError = null;
        return result;
      } catch (error) {
        if (error instanceof StoreError) lastWriteError = error;
        throw error;
      }
    },
    dataVersion: () => guarded(() => dataVersion.get()?.data_version ?? 0),
    sizeBytes: () => fileSize(path) + fileSize(`${path}-wal`),
    checkDatabase: () =>
      closed ? { ok: false, message: "The database is closed", code: "CLOSED" } : check(),
    beforeClose: (work) => void endings.push(work),
    close() {
      if (closed) return;
      for (const ending of endings.reverse()) attempt("flush", ending);
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
