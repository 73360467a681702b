import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { makePrivateFile } from "../files.ts";

/**
 * A note beside the database that a query met damage: the next start then reads all of the file instead of parts of it.
 * A file, because what is damaged is the last place to write it into.
 */
export interface DamageMark {
  /** What was met; null when nothing was. */
  read(): string | null;
  /** Does nothing when there is a note already. Never throws: the damage itself is being told. */
  leave(what: string): void;
  remove(): void;
}

export function createDamageMark(path: string): DamageMark {
  const file = `${path}.damaged`;
  return {
    read: () => (existsSync(file) ? readFileSync(file, "utf8").trim() : null),
    leave(what) {
      try {
        makePrivateFile(file, dirname(file));
        writeFileSync(file, `${what}\n`);
      } catch {
        // There already, or the disk takes nothing: the next start looks at parts, as always.
      }
    },
    remove: () => rmSync(file, { force: true }),
  };
}
