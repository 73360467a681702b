import { readdirSync, renameSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { printBytes } from "../../domain/bytes.ts";
import type { Log } from "../../domain/log.ts";
import { makePrivateFile, syncToDisk } from "../files.ts";
import { asStoreError } from "../store-error.ts";
import { copyDatabase } from "./copy.ts";
import { removeDatabase } from "./exchange.ts";
import { asideName } from "./file-names.ts";
import { bytesInUse, requireRoom } from "./room.ts";

/** Copies that are kept, the new one included. */
const KEPT = 2;

/**
 * Copies the database beside itself before its schema is changed (`licmond.db.schema-<n>-<time>`), and takes away the
 * oldest of such copies. Throws StoreError; nothing has been changed then.
 */
export function backUpBeforeUpgrade(
  path: string,
  schema: { readonly from: number; readonly to: number },
  { now, log }: { readonly now: number; readonly log: Log },
): void {
  const directory = dirname(path);
  const bytes = bytesInUse(path);
  requireRoom(
    directory,
    bytes,
    "The upgrade begins with one; nothing was changed, and the licmond before this one still runs on it. Free space on " +
      "its file system, or upgrade without a copy (storage.backup_before_upgrade = false).",
  );
  const name = asideName(path, `schema-${schema.from}`, now);
  log.info("The database is copied before the upgrade of its schema", {
    schema: schema.from,
    next: schema.to,
    size: printBytes(bytes),
    file: name,
  });
  const part = `${path}.upgrading`;
  removeDatabase(part);
  try {
    makePrivateFile(part, directory);
    copyDatabase(path, part, "live");
    syncToDisk(part);
    renameSync(part, name);
    syncToDisk(directory);
  } catch (error) {
    removeDatabase(part);
    throw asStoreError(error, part) ?? error;
  }
  for (const old of copiesOf(path).slice(KEPT)) {
    rmSync(old, { force: true });
    log.info("An old copy from before an upgrade was removed", { file: old });
  }
}

/** The copies that there are, the newest first: by the time in their names, which copying them about does not change. */
export function copiesOf(path: string): string[] {
  const prefix = `${basename(path)}.schema-`;
  return readdirSync(dirname(path))
    .flatMap((name) => {
      const stamp = name.startsWith(prefix)
        ? /^\d+-(\d{8}T\d{6}Z.*)$/.exec(name.slice(prefix.length))?.[1]
        : undefined;
      return stamp === undefined ? [] : [{ file: join(dirname(path), name), stamp }];
    })
    .sort((a, b) => (a.stamp < b.stamp ? 1 : -1))
    .map(({ file }) => file);
}
