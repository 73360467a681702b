import type { Database } from "bun:sqlite";
import { statSync } from "node:fs";
import { fileSize, pathsOf, requireWritable } from "../database/files.ts";
import { assertOurs, schemaVersion } from "../database/migrate.ts";
import { openImmutable } from "../database/read-only.ts";
import { asStoreError } from "../database/store-error.ts";
import { MIGRATIONS } from "../migrations/migrations.ts";

/** Schema of a database that is there, and the one of this licmond: an older one is migrated when the daemon starts. */
export interface DatabaseVersions {
  /** Null = unknown: the newest is in a write-ahead log, which a running daemon has. */
  readonly schema: number | null;
  readonly current: number;
}

/**
 * Whether the daemon would take up the database of this directory, by its file alone: nothing is locked or made, so that
 * it can be asked beside a running daemon and by another user. Null = no file, or an empty one, which is fine.
 * Throws StoreError as `openStore` would.
 */
export function inspectDatabase(directory: string): DatabaseVersions | null {
  const path = pathsOf(directory).history;
  let sqlite: Database | null = null;
  try {
    requireWritable(path);
    if (fileSize(path) === 0) return null;
    sqlite = openImmutable(path);
    assertOurs(sqlite, path, MIGRATIONS);
    const isCurrent = fileSize(`${path}-wal`) === 0;
    return { schema: isCurrent ? schemaVersion(sqlite) : null, current: MIGRATIONS.length };
  } catch (error) {
    throw asStoreError(error, path) ?? error;
  } finally {
    sqlite?.close();
  }
}

/** True where certainly neither a database lies nor a copy out of which its keys would come back. */
export function isEmptyStorage(directory: string): boolean {
  const { history, state, stateCopy } = pathsOf(directory);
  const files = [history, state, stateCopy, `${history}.vital`];
  try {
    return files.every((path) => statSync(path, { throwIfNoEntry: false }) === undefined);
  } catch {
    // Opening it in earnest says what is wrong.
    return false;
  }
}
