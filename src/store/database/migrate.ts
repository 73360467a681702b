import type { Database } from "bun:sqlite";
import { messageOf } from "../../domain/error-code.ts";
import { type Migration, STATE_MIGRATIONS } from "../migrations/migrations.ts";
import { asStoreError, errorCode, StoreError } from "./store-error.ts";

/**
 * Application id of licmond's databases (`LMON`). A database with another id belongs to another program and
 * is refused.
 */
export const APPLICATION_ID = 0x4c4d4f4e;

export function schemaVersion(sqlite: Database): number {
  return pragma(sqlite, "user_version");
}

/**
 * Refuses a database that this binary must not write: `NEWER` if a newer licmond wrote it, `FOREIGN` if it
 * belongs to another program or is the other one of licmond's two databases.
 */
export function assertOurs(sqlite: Database, path: string, migrations: readonly Migration[]): void {
  const applicationId = pragma(sqlite, "application_id");
  const version = schemaVersion(sqlite);
  const tables = sqlite.query<{ name: string }, []>("SELECT name FROM sqlite_schema").all();
  const has = (table: string) => tables.some(({ name }) => name === table);
  const isEmpty = tables.length === 0;
  if (applicationId !== APPLICATION_ID && !(applicationId === 0 && isEmpty)) {
    const fix = "Set storage.directory to a directory of licmond's own.";
    throw new StoreError("FOREIGN", `${path} is a database of another program`, fix);
  }
  const isForState = migrations[0]?.name === STATE_MIGRATIONS[0]?.name;
  if (isForState ? has("servers") : has("api_keys") && !has("servers")) {
    const [is, wanted] = isForState ? ["licmond.db", "state.db"] : ["state.db", "licmond.db"];
    throw new StoreError(
      "FOREIGN",
      `${path} has the content of a ${is}, not of a ${wanted}`,
      "Stop licmond and give each of the two files its own name, or move this one away and put a backup in its place (licmond restore FILE).",
    );
  }
  if (version > migrations.length) {
    throw new StoreError(
      "NEWER",
      `${path} was written by a newer licmond (schema ${version}, this one knows up to ${migrations.length})`,
      "Run the newer licmond again, or restore a backup from before the upgrade.",
    );
  }
}

/**
 * Applies the missing migrations in order, each in its own transaction.
 *
 * Foreign keys are off, because rebuilding a table (create, copy, drop, rename) would delete every row that
 * refers to it (https://sqlite.org/lang_altertable.html#otheralter). The pragma has no effect inside a
 * transaction. Broken references are checked before each commit.
 */
export function migrate(sqlite: Database, path: string, migrations: readonly Migration[]): void {
  assertOurs(sqlite, path, migrations);
  if (schemaVersion(sqlite) === migrations.length) return;
  sqlite.run("PRAGMA foreign_keys = OFF");
  try {
    for (const [index, migration] of migrations.entries()) step(sqlite, path, migration, index + 1);
  } finally {
    sqlite.run("PRAGMA foreign_keys = ON");
  }
}

function step(sqlite: Database, path: string, migration: Migration, version: number): void {
  const run = sqlite.transaction(() => {
    // Read the version inside the write transaction, because another process may just have applied this
    // migration.
    if (schemaVersion(sqlite) >= version) return;
    sqlite.run(migration.sql);
    const broken = sqlite.query("PRAGMA foreign_key_check").all().length;
    if (broken > 0) throw new Error(`${broken} rows refer to rows that are gone`);
    sqlite.run(`PRAGMA application_id = ${APPLICATION_ID}`);
    sqlite.run(`PRAGMA user_version = ${version}`);
  });
  try {
    run.immediate();
  } catch (error) {
    const known = asStoreError(error, path);
    if (known !== null && errorCode(error) !== "SQLITE_ERROR") throw known;
    throw new StoreError(
      "MIGRATION",
      `${path} could not be brought to schema ${version} (${migration.name}): ${messageOf(error)}`,
      "Nothing was changed. Run the licmond that wrote the file, and report this as a bug.",
      error,
    );
  }
}

function pragma(sqlite: Database, name: "user_version" | "application_id"): number {
  const row = sqlite.query<Record<string, number>, []>(`PRAGMA ${name}`).get();
  return row?.[name] ?? 0;
}
