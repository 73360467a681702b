import type { Database } from "bun:sqlite";

/** Refuses promises at compile time: a transaction that awaits is over at its first await. */
export type NotPromise<T> = T extends PromiseLike<unknown> ? never : T;

interface Transaction {
  /** Queues work that does not throw: run after the commit, dropped on a rollback. */
  after(effect: () => void): void;
}

interface TransactionOptions {
  /**
   * Also survives a power cut: waits for the disk. Without it a commit survives the death of the process, and a
   * power cut may undo the last seconds (never half a transaction).
   */
  readonly durable?: boolean;
}

/**
 * Runs `work` in one transaction and answers what it returns. Every statement of the connection is part of it, and inside
 * another transaction `work` is part of that one. Whatever `work` throws is thrown on, after the rollback of all of it.
 */
export type RunTransaction = <T>(
  work: (transaction: Transaction) => NotPromise<T>,
  options?: TransactionOptions,
) => T;

export function createTransaction(sqlite: Database): RunTransaction {
  let running: Transaction | null = null;
  return (work, { durable = false } = {}) => {
    if (running !== null) return work(running);
    const effects: (() => void)[] = [];
    running = { after: (effect) => void effects.push(effect) };
    let result: ReturnType<typeof work>;
    // Not Bun's `sqlite.transaction`: its statements outlive `close`, and with them the connection and its locks.
    try {
      // The level can only be changed between transactions.
      if (durable) sqlite.run("PRAGMA synchronous = FULL");
      // IMMEDIATE: a transaction that reads first and then finds another writer ahead fails at once, without waiting.
      sqlite.run("BEGIN IMMEDIATE");
      result = work(running);
      sqlite.run("COMMIT");
    } catch (error) {
      // SQLite has rolled back by itself after some errors (full disk, I/O).
      if (sqlite.inTransaction) sqlite.run("ROLLBACK");
      throw error;
    } finally {
      running = null;
      if (durable) sqlite.run("PRAGMA synchronous = NORMAL");
    }
    for (const effect of effects) effect();
    return result;
  };
}

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
  { transaction }: { readonly transaction: RunTransaction },
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
