import { existsSync, linkSync, readdirSync, renameSync, rmSync } from "node:fs";
import { basename, dirname } from "node:path";
import { fileSize, syncToDisk } from "./files.ts";

/** Files that SQLite keeps beside a database. */
export const COMPANIONS = ["-wal", "-shm", "-journal"] as const;

/** Ends of the names of databases that are not finished: of a restore, of a new beginning, of the copy before an upgrade. */
const HALF_MADE = ["restoring", "rescuing", "upgrading"] as const;

/**
 * Why a file lies beside the database: `corrupt` it was found damaged · `replaced` a restore took its place ·
 * `schema-<n>` a copy from before the upgrade of that schema.
 */
export type AsideWord = "corrupt" | "replaced" | `schema-${number}`;

/** `20260131T081530Z`: the time as it stands in names of files. */
export function timeStamp(now: number): string {
  return new Date(now).toISOString().replace(/[-:]|\.\d+/g, "");
}

/** A free name beside the database, with the time: `licmond.db.corrupt-20260131T081530Z`. */
export function asideName(path: string, word: AsideWord, now: number): string {
  const name = `${path}.${word}-${timeStamp(now)}`;
  const isTaken = (candidate: string) => ["", ...COMPANIONS].some((suffix) => existsSync(candidate + suffix));
  let free = name;
  for (let turn = 1; isTaken(free); turn++) free = `${name}-${turn}`;
  return free;
}

/**
 * Puts a finished database in the place of another, which moves to a name of its own beside it, with what belongs to
 * it. Answers that name, null when there was none; `word` null = it goes. Nobody may have either open. A crash at any
 * moment leaves the one or the other in place.
 */
export function exchange(fresh: string, path: string, word: AsideWord | null, now: number): string | null {
  const aside = word === null ? null : asideName(path, word, now);
  const isThere = existsSync(path);
  syncToDisk(fresh);
  if (isThere && aside !== null) giveSecondName(path, aside);
  for (const suffix of COMPANIONS) {
    // SQLite would take a log for the new database's. It rebuilds the index of the log (-shm) itself.
    if (aside !== null && fileSize(path + suffix) > 0 && suffix !== "-shm")
      renameSync(path + suffix, aside + suffix);
    else rmSync(path + suffix, { force: true });
  }
  renameSync(fresh, path);
  syncToDisk(dirname(path));
  return isThere ? aside : null;
}

/** Two names for a moment, so that there is always a database in place. */
function giveSecondName(path: string, aside: string): void {
  try {
    linkSync(path, aside);
  } catch {
    // A file system without links.
    renameSync(path, aside);
  }
}

/** Takes a database away, whole or half made, with what SQLite keeps beside it. */
export function removeDatabase(path: string): void {
  for (const suffix of ["", ...COMPANIONS]) rmSync(path + suffix, { force: true });
}

/** Removes what a killed licmond left half made beside a database, and answers which files. The caller holds the directory. */
export function removeLeftovers(path: string): string[] {
  const halfMade = HALF_MADE.flatMap((word) => ["", ...COMPANIONS].map((suffix) => `.${word}${suffix}`));
  const found = readdirSync(dirname(path), { withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.startsWith(basename(path)))
    .map(({ name }) => name.slice(basename(path).length))
    // What a copy of state.db is made in has a process id in its name.
    .filter((end) => halfMade.includes(end) || end.startsWith(".copy-"))
    .map((end) => path + end);
  for (const file of found) rmSync(file, { force: true });
  return found;
}
