import { Database } from "bun:sqlite";
import { ensurePrivateFile } from "./files.ts";
import { asStoreError, errorCode, StoreError } from "./store-error.ts";

export interface DirectoryLock {
  /** A second call does nothing. */
  release(): void;
}

/**
 * Makes one licmond the only one to work on a storage directory. The lock is a write transaction held open on an
 * empty database of its own: the kernel drops it with the process, `kill -9` included, so nothing can be left over
 * to clean up. Others can still read, and so learn who holds it.
 *
 * Throws StoreError `HELD` when another holds it for longer than `waitMs` (a restart may overlap a little).
 */
export function lockDirectory(directory: string, path: string, waitMs: number): DirectoryLock {
  ensurePrivateFile(path);
  const lock = new Database(path, { create: true, strict: true });
  try {
    lock.run(`PRAGMA busy_timeout = ${waitMs}`);
    noteHolder(lock);
    lock.run("BEGIN IMMEDIATE");
  } catch (error) {
    const busy = errorCode(error)?.startsWith("SQLITE_BUSY") === true;
    const holder = busy ? holderOf(lock) : null;
    lock.close();
    if (!busy) throw asStoreError(error, path) ?? error;
    const who = holder === null ? "Another licmond" : `Another licmond (process ${holder})`;
    throw new StoreError(
      "HELD",
      `${who} uses the storage directory ${directory}`,
      "Stop it first (systemctl stop licmond), or give this one a storage.directory of its own.",
      error,
    );
  }
  let isHeld = true;
  return {
    release() {
      if (!isHeld) return;
      isHeld = false;
      lock.run("ROLLBACK");
      lock.close();
    },
  };
}

/** Leaves the process id for the message of who comes next. A full disk must not keep the daemon from starting. */
function noteHolder(lock: Database): void {
  try {
    lock
      .transaction(() => {
        lock.run("CREATE TABLE IF NOT EXISTS holder (pid INTEGER NOT NULL)");
        lock.run("DELETE FROM holder");
        lock.run("INSERT INTO holder VALUES (?)", [process.pid]);
      })
      .immediate();
  } catch (error) {
    if (errorCode(error) !== "SQLITE_FULL") throw error;
  }
}

function holderOf(lock: Database): number | null {
  try {
    const row = lock.query<{ pid: number }, []>("SELECT pid FROM holder").get();
    return row?.pid ?? null;
  } catch {
    // Only the message is poorer: the lock itself has been found held.
    return null;
  }
}

/** Does work for which a command needs the directory: it must not change the files under a daemon. Throws StoreError `HELD`. */
export function withLock<T>(take: () => DirectoryLock, work: () => T): T {
  let lock: DirectoryLock;
  try {
    lock = take();
  } catch (error) {
    if (!(error instanceof StoreError) || error.code !== "HELD") throw error;
    throw new StoreError(
      "HELD",
      `${error.message}, with an older version of licmond or without one of its files`,
      "Restart the daemon with this version first (systemctl restart licmond).",
      error,
    );
  }
  try {
    return work();
  } finally {
    lock.release();
  }
}
