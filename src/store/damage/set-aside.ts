import { readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { basename, dirname } from "node:path";
import { asideName, COMPANIONS } from "../backup/file-names.ts";
import { syncToDisk } from "../files.ts";

/** Moves a database with what belongs to it to a name of its own beside it, and answers the name. Nobody may have it open. */
export function setAside(path: string, now: number): string {
  const aside = asideName(path, "corrupt", now);
  // Only an index of the log, which SQLite makes anew; and an empty log says nothing.
  rmSync(`${path}-shm`, { force: true });
  // The log first: left behind alone, it would be taken for the new database's.
  for (const suffix of [...COMPANIONS, ""]) {
    const size = statSync(path + suffix, { throwIfNoEntry: false })?.size;
    if (size === 0 && suffix !== "") rmSync(path + suffix);
    else if (size !== undefined) renameSync(path + suffix, aside + suffix);
  }
  syncToDisk(dirname(path));
  return aside;
}

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
