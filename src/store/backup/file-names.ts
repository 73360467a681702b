import { existsSync } from "node:fs";

/** Files that SQLite keeps beside a database. */
export const COMPANIONS = ["-wal", "-shm", "-journal"] as const;

/**
 * Why a file lies beside the database: `corrupt` it was found damaged · `replaced` a restore took its place ·
 * `schema-<n>` a copy from before the upgrade of that schema.
 */
export type AsideWord = "corrupt" | "replaced" | `schema-${number}`;

/** A free name beside the database, with the time: `licmond.db.corrupt-20260131T081530Z`. */
export function asideName(path: string, word: AsideWord, now: number): string {
  const stamp = new Date(now).toISOString().replace(/[-:]|\.\d+/g, "");
  const name = `${path}.${word}-${stamp}`;
  const isTaken = (candidate: string) => ["", ...COMPANIONS].some((suffix) => existsSync(candidate + suffix));
  for (let turn = 2; ; turn++) {
    const candidate = turn === 2 ? name : `${name}-${turn - 1}`;
    if (!isTaken(candidate)) return candidate;
  }
}
