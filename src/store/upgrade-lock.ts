import type { Database } from "bun:sqlite";
import type { DirectoryLock } from "./lock.ts";
import { schemaVersion } from "./migrate.ts";
import type { Migration } from "./migrations.ts";
import { StoreError } from "./store-error.ts";

/** A command beside a running daemon of an older version must not change the tables under it. */
export function withLock(
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
