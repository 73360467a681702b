import { readdirSync, renameSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { printBytes } from "../../domain/bytes.ts";
import type { Log } from "../../domain/log.ts";
import {
  asideName,
  makeFresh,
  type Paths,
  removeDatabase,
  requireSpace,
  syncToDisk,
} from "../database/files.ts";
import { copyBoth } from "../database/precious.ts";
import { bytesInUse } from "../database/read-only.ts";

import { asStoreError } from "../database/store-error.ts";

/** Copies that are kept, the new one included. */
const KEPT = 2;

/**
 * Copies the databases beside themselves before their schema is changed (`licmond.db.schema-<n>-<time>`), and removes the
 * oldest of such copies. Throws StoreError; nothing has been changed then.
 */
export function backUpBeforeUpgrade(
  paths: Paths,
  schema: { readonly from: number; readonly to: number },
  now: number,
  log: Log,
): void {
  const directory = dirname(paths.history);
  const bytes = bytesInUse(paths.history);
  requireSpace(
    directory,
    bytes,
    "The upgrade begins with one; nothing was changed, and the licmond before this one still runs on it. Free space on " +
      "its file system, or upgrade without a copy (storage.backup_before_upgrade = false).",
  );
  const name = asideName(paths.history, `schema-${schema.from}`, now);
  log.info("The database is copied before the upgrade of its schema", {
    schema: schema.from,
    next: schema.to,
    size: printBytes(bytes),
    file: name,
  });
  const part = `${paths.history}.upgrading`;
  try {
    makeFresh(part);
    copyBoth(paths, part);
    syncToDisk(part);
    renameSync(part, name);
    syncToDisk(directory);
  } catch (error) {
    removeDatabase(part);
    throw asStoreError(error, part) ?? error;
  }
  for (const file of copiesOf(paths.history).slice(KEPT)) {
    rmSync(file, { force: true });
    log.info("An old copy from before an upgrade was removed", { file });
  }
}

/** The copies that there are, the newest first: by the time in their names, which copying them about does not change. */
export function copiesOf(path: string): string[] {
  const stampOf = (name: string) => /\.schema-\d+-(\d{8}T\d{6}Z.*)$/.exec(name)?.[1] ?? "";
  return readdirSync(dirname(path))
    .filter((name) => name.startsWith(`${basename(path)}.schema-`) && stampOf(name) !== "")
    .sort((a, b) => (stampOf(a) < stampOf(b) ? 1 : -1))
    .map((name) => join(dirname(path), name));
}
