import type { Database } from "bun:sqlite";

/** Rejects promises at compile time, because a transaction would end at the first await. */
export type NotPromise<T> = T extends PromiseLike<unknown> ? never : T;

interface Transaction {
  /** Queues work that must not throw. The work runs after the commit, and is dropped on a rollback. */
  after(effect: () => void): void;
}

interface TransactionOptions {
  /**
   * Waits for the disk, so that the commit also survives a power cut. Otherwise a commit survives the death
   * of the process, but a power cut may undo whole commits of the last seconds.
   */
  readonly durable?: boolean;
}

/**
 * Runs `work` in one transaction and returns its result. A nested call joins the outer transaction. Rolls
 * back and rethrows exceptions.
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
    // Do not use Bun's `sqlite.transaction`: its statements outlive `close`, and with them the connection and
    // its locks.
    try {
      // Set this before the transaction, because the level cannot be changed within one.
      if (durable) sqlite.run("PRAGMA synchronous = FULL");
      // Use IMMEDIATE, because otherwise a transaction that reads first and then meets another writer fails
      // at once, without waiting.
      sqlite.run("BEGIN IMMEDIATE");
      result = work(running);
      sqlite.run("COMMIT");
    } catch (error) {
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

const ROWS_AT_ONCE = 10;
/** Approximate duration of one step, without its commit. */
const STEP_MS = 4;
/**
 * Maximum number of rows per step. In a large table, each row changes another page of each index, and a
 * commit that brings the log to 256 pages also writes the log back.
 */
export const MOST_ROWS = 50;

/**
 * Deletes one step of old rows in a transaction that is short enough for the event loop. It deletes as many
 * rows as the time allows, because the cost per row varies a hundredfold with the size of the database.
 * `some` deletes at most `limit` rows and returns their number. Returns the number of all deleted rows.
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
