import { readdirSync, renameSync } from "node:fs";
import { basename, dirname } from "node:path";
import { asideName } from "../backup/file-names.ts";
import { syncToDisk } from "../files.ts";

/** Moves a write-ahead log alone: SQLite would throw it away. */
export function setWalAside(path: string, now: number): string {
  const aside = `${asideName(path, "corrupt", now)}-wal`;
  renameSync(`${path}-wal`, aside);
  syncToDisk(dirname(path));
  return aside;
}

/** Whether damaged files that were moved aside still lie beside the database: nobody has seen to them yet. */
export function hasAside(path: string): boolean {
  const prefix = `${basename(path)}.corrupt-`;
  return readdirSync(dirname(path)).some((name) => name.startsWith(prefix));
}
