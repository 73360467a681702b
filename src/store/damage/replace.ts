import { Database } from "bun:sqlite";
import { dirname } from "node:path";
import { exchange, removeDatabase } from "../backup/exchange.ts";
import { makePrivateFile, syncToDisk } from "../files.ts";
import { migrate } from "../migrate.ts";
import type { Migration } from "../migrations.ts";
import type { Vital } from "../vital/file.ts";
import { type GivenBack, giveBack } from "../vital/give-back.ts";
import { type Rescued, rescue } from "./rescue.ts";

export interface Replaced {
  /** Where the damaged database is now; null when it has gone meanwhile. */
  readonly aside: string | null;
  /** Rows taken over from it, by table. */
  readonly rescued: Rescued["rows"];
  /** Rows that came from the side copy. */
  readonly givenBack: GivenBack;
}

/**
 * Puts a new database, with what could be rescued of it and what the side copy has beyond that, in the place of a damaged one. The new one is made beside it first:
 * a process that is killed on the way must not leave an empty database without the keys, which the next start would
 * find in order. Throws what SQLite and the file system throw.
 */
export function replaceDamaged(
  path: string,
  migrations: readonly Migration[],
  now: number,
  vital: Vital | null,
): Replaced {
  const fresh = `${path}.rescuing`;
  removeDatabase(fresh);
  try {
    makePrivateFile(fresh, dirname(path));
    const sqlite = new Database(fresh, { readwrite: true, strict: true });
    let rescued: Rescued;
    let givenBack: GivenBack = {};
    try {
      // It is thrown away unless it comes to its end, and is on the disk before it is put in place.
      sqlite.run("PRAGMA journal_mode = MEMORY");
      sqlite.run("PRAGMA synchronous = OFF");
      migrate(sqlite, fresh, migrations);
      rescued = rescue(path, sqlite, now);
      const { isRead } = rescued;
      if (vital !== null) givenBack = giveBack(sqlite, vital, isRead);
    } finally {
      sqlite.close();
    }
    syncToDisk(fresh);
    return { aside: exchange(fresh, path, "corrupt", now), rescued: rescued.rows, givenBack };
  } catch (error) {
    removeDatabase(fresh);
    throw error;
  }
}
