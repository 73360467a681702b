import { Database } from "bun:sqlite";
import { ensurePrivateFile } from "./files.ts";
import { schemaVersion } from "./migrate.ts";
import { asStoreError, errorCode, StoreError } from "./store-error.ts";

/**
 * Makes one licmond the only one to work on a storage directory. The lock is a write transaction held open on an
 * empty database of its own: the kernel drops it with the process, `kill -9` included, so nothing can be left over
 * to clean up. Others can still read its `user_version`, which is the process id of the holder.
 *
 * Throws StoreError `HELD` when another holds it for longer than `waitMs` (a restart may overlap a little).
 */
export function lockDirectory(directory: string, path: string, waitMs: number) {
  ensurePrivateFile(path);
  const lock = new Database(path, { create: true, strict: true });
  try {
    lock.run(`PRAGMA busy_timeout = ${waitMs}`);
    try {
      lock.run(`PRAGMA user_version = ${process.pid}`);
    } catch (error) {
      // The process id is only for messages: a full disk must not keep the daemon from starting.
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
      `${who} uses the storage directory ${directory}`,
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
