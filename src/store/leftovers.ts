import { existsSync, lstatSync, readdirSync, renameSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { COMPANIONS } from "./backup/file-names.ts";

/** Half made databases: of a restore, of the rescue of a damaged one, of the copy before an upgrade. */
const HALF_MADE = ["restoring", "rescuing", "upgrading"] as const;

/**
 * Files beside the database that a licmond left when it was killed in the midst of exchanging it. They are made only by
 * who holds the directory, so whoever holds it now knows that nobody is at work on them:
 * half made databases, with what SQLite keeps beside them; and a second name of the database itself, which it has for a
 * moment while another takes its place.
 */
export function findLeftovers(path: string): string[] {
  const halfMade = HALF_MADE.flatMap((word) =>
    ["", ...COMPANIONS].map((suffix) => `${path}.${word}${suffix}`),
  ).filter(isFile);
  return [...halfMade, ...secondNames(path)];
}

/**
 * Takes them away, and answers which. The caller holds the directory. What had been moved along under the second name
 * goes back: a write-ahead log belongs to the database as long as that is in its place.
 */
export function removeLeftovers(path: string): string[] {
  const found = findLeftovers(path);
  for (const name of secondNames(path)) {
    for (const suffix of COMPANIONS)
      if (existsSync(name + suffix) && !existsSync(path + suffix)) renameSync(name + suffix, path + suffix);
  }
  for (const file of found) rmSync(file, { force: true });
  return found;
}

function isFile(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

function secondNames(path: string): string[] {
  const own = lstatSync(path, { throwIfNoEntry: false });
  if (own === undefined || !own.isFile() || own.nlink < 2) return [];
  const directory = dirname(path);
  const prefixes = ["corrupt-", "replaced-"].map((word) => `${basename(path)}.${word}`);
  return readdirSync(directory)
    .filter((name) => prefixes.some((prefix) => name.startsWith(prefix)))
    .map((name) => join(directory, name))
    .filter((file) => {
      const other = lstatSync(file, { throwIfNoEntry: false });
      return other?.ino === own.ino && other.dev === own.dev;
    });
}
