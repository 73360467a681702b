import { Database } from "bun:sqlite";
import { existsSync, rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathsOf } from "../database/files.ts";
import { APPLICATION_ID, schemaVersion } from "../database/migrate.ts";
import { openReader } from "../database/read-only.ts";
import { copiesOf } from "../open/before-upgrade.ts";
import { restore } from "./restore.ts";

/** What becomes of the database when an older licmond is to work on it. */
export type WayBack =
  /** There is none, or the older licmond takes it up as it is. */
  | { readonly kind: "none" }
  /** The copy from before the migration takes its place. */
  | { readonly kind: "copy"; readonly database: string; readonly copy: string }
  /** There is no copy that the older licmond takes up. */
  | { readonly kind: "lost"; readonly database: string };

/**
 * Finds the copy that the migration left beside the database (`licmond.db.schema-<n>-<time>`), when an older licmond
 * refuses the migrated one. `accepts`: whether it takes up a database; it is asked about an empty one of the same
 * schema, because reading a large one takes minutes.
 */
export async function wayBack(
  directory: string,
  accepts: (file: string) => Promise<boolean>,
): Promise<WayBack> {
  const database = pathsOf(directory).history;
  if (!existsSync(database) || (await isAccepted(database, accepts))) return { kind: "none" };
  for (const copy of copiesOf(database))
    if (await isAccepted(copy, accepts)) return { kind: "copy", database, copy };
  return { kind: "lost", database };
}

/** What was there moves aside, and keys that were revoked since stay revoked. Throws StoreError. */
export async function restoreCopy({ database, copy }: { database: string; copy: string }): Promise<void> {
  await restore({ directory: dirname(database), file: copy, now: Date.now() });
}

async function isAccepted(path: string, accepts: (file: string) => Promise<boolean>): Promise<boolean> {
  const folder = await mkdtemp(join(tmpdir(), "licmond-schema-"));
  const sqlite = openReader(path);
  try {
    const file = join(folder, "empty.db");
    const empty = new Database(file, { create: true });
    empty.run(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${schemaVersion(sqlite)}`);
    empty.close();
    return await accepts(file);
  } finally {
    sqlite.close();
    rmSync(folder, { recursive: true });
  }
}
