import type { Database } from "bun:sqlite";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { openReader } from "./backup/untouched.ts";
import { assertOurs, schemaVersion } from "./migrate.ts";
import { MIGRATIONS } from "./migrations.ts";
import { asStoreError, errorCode, StoreError } from "./store-error.ts";

/**
 * The database of a storage directory, for reading alone: beside a running daemon or without one. Nothing is made,
 * migrated or locked. Throws StoreError.
 */
export async function withDatabase<T>(directory: string, work: (sqlite: Database) => Promise<T>): Promise<T> {
  const path = join(resolve(directory), "licmond.db");
  if (!existsSync(path)) {
    throw new StoreError("IO", `There is no database ${path}`, "Start the daemon once (licmond serve).");
  }
  let sqlite: Database | null = null;
  try {
    sqlite = openReader(path);
    sqlite.run("PRAGMA query_only = ON");
    assertOurs(sqlite, path, MIGRATIONS);
    const version = schemaVersion(sqlite);
    if (version < MIGRATIONS.length) {
      throw new StoreError(
        "MIGRATION",
        `${path} was written by an older licmond (schema ${version}, this one has ${MIGRATIONS.length})`,
        "Restart the daemon with this version first.",
      );
    }
    return await work(sqlite);
  } catch (error) {
    // What the work does elsewhere, e.g. to a file, is no matter of this database.
    const ours = errorCode(error)?.startsWith("SQLITE_") === true;
    throw (ours ? asStoreError(error, path) : null) ?? error;
  } finally {
    sqlite?.close();
  }
}
