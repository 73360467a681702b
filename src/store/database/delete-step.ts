import type { DatabaseFile } from "./database-file.ts";

/** Rows deleted between two looks at the clock. */
const ROWS_AT_ONCE = 10;
/** About how long a step works; what its commit costs comes on top. */
const STEP_MS = 4;
/**
 * Most rows of a step. Rows of a large table lie on as many pages of each index, and what is written of 256 pages is
 * written back in the commit that fills them up.
 */
export const MOST_ROWS = 50;

/**
 * One step of deleting what is too old, in one transaction short enough for the event loop: as many rows as the time
 * allows, because what one costs differs a hundredfold with the size of the database. `some` deletes at most so many
 * rows and answers how many; so does the step.
 */
export function deleteStep(
  { transaction }: Pick<DatabaseFile, "transaction">,
  some: (limit: number) => number,
): number {
  return transaction(() => {
    const begun = performance.now();
    let deleted = 0;
    while (deleted < MOST_ROWS) {
      const last = some(Math.min(ROWS_AT_ONCE, MOST_ROWS - deleted));
      deleted += last;
      if (last === 0 || performance.now() - begun >= STEP_MS) break;
    }
    return deleted;
  });
}
