import { Database } from "bun:sqlite";
import { dirname } from "node:path";
import { exchange, removeDatabase } from "../backup/exchange.ts";
import { makePrivateFile, syncToDisk } from "../files.ts";
import { migrate } from "../migrate.ts";
import type { Migration } from "../migrations.ts";
import { type Rescued, rescue } from "./rescue.ts";

export interface Replaced {
  /** Where the damaged database is now; null when it has gone meanwhile. */
  readonly aside: string | null;
  readonly rescued: Rescued;
}

/**
 * Puts a new database, with what could be rescued, in the place of a damaged one. The new one is made beside it first:
 * a process that is killed on the way must not leave an empty database without the keys, which the next start would
 * find in order. Throws what SQLite and the file system throw.
 */
export function replaceDamaged(path: string, migrations: readonly Migration[], now: number): Replaced {
  const fresh = `${path}.rescuing`;
  removeDatabase(fresh);
  try {
    makePrivateFile(fresh, dirname(path));
    const sqlite = new Database(fresh, { readwrite: true, strict: true });
    let rescued: Rescued;
    try {
      // It is thrown away unless it comes to its end, and is on the disk before it is put in place.
      sqlite.run("PRAGMA journal_mode = MEMORY");
      sqlite.run("PRAGMA synchronous = OFF");
      migrate(sqlite, fresh, migrations);
      rescued = rescue(path, sqlite, now);
    } finally {
      sqlite.close();
    }
    syncToDisk(fresh);
    return { aside: exchange(fresh, path, "corrupt", now), rescued };
  } catch (error) {
    removeDatabase(fresh);
    throw error;
  }
}
