import { existsSync, linkSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { syncToDisk } from "../files.ts";
import { type AsideWord, asideName, COMPANIONS } from "./file-names.ts";

/**
 * Puts a finished database in the place of another, which moves to a name of its own beside it, with what belongs to
 * it: answers that name, null when there was none. Nobody may have either open. A crash at any moment leaves the one or
 * the other in place.
 */
export function exchange(fresh: string, path: string, word: AsideWord, now: number): string | null {
  const isThere = existsSync(path);
  const aside = asideName(path, word, now);
  // Two names for a moment, so that there is never none; who is killed now is known by them (see leftovers).
  const isLinked = isThere && hasLink(path, aside);
  // Only an index of the log, which SQLite makes anew; and an empty log says nothing.
  rmSync(`${path}-shm`, { force: true });
  // Left only beside a damaged or a lost one: SQLite would take them for the new database's.
  for (const suffix of COMPANIONS) {
    const size = statSync(path + suffix, { throwIfNoEntry: false })?.size;
    if (size === 0) rmSync(path + suffix);
    else if (size !== undefined) renameSync(path + suffix, aside + suffix);
  }
  if (isThere && !isLinked) renameSync(path, aside);
  renameSync(fresh, path);
  syncToDisk(dirname(path));
  return isThere ? aside : null;
}

function hasLink(path: string, aside: string): boolean {
  try {
    linkSync(path, aside);
    return true;
  } catch {
    // A file system without links.
    return false;
  }
}

/** Takes a database away, whole or half made, with what SQLite keeps beside it. */
export function removeDatabase(path: string): void {
  for (const suffix of ["", ...COMPANIONS]) rmSync(path + suffix, { force: true });
}
