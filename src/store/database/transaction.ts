import type { Database } from "bun:sqlite";

/** Refuses promises at compile time: a transaction that awaits is over at its first await. */
export type NotPromise<T> = T extends PromiseLike<unknown> ? never : T;

export interface Transaction {
  /** Queues work that publishes (events, log lines): run after the commit, dropped on a rollback. */
  after(effect: () => void): void;
}

export interface TransactionOptions {
  /**
   * Also survives a power cut: waits for the disk. Without it a commit survives the death of the process, and a
   * power cut may undo the last seconds (never half a transaction).
   */
  readonly durable?: boolean;
}

/**
 * Runs `work` in one transaction and answers what it returns. Every statement of the connection is part of it.
 * Inside another transaction it is a savepoint: its failure undoes only itself, its effects wait for the outer commit.
 * Whatever `work` throws is thrown on, after the rollback.
 */
export type RunTransaction = <T>(
  work: (transaction: Transaction) => NotPromise<T>,
  options?: TransactionOptions,
) => T;

/** `onEffectError`: an effect threw. Its transaction stands, and the other effects are run. */
export function createTransaction(sqlite: Database, onEffectError: (error: unknown) => void): RunTransaction {
  let waiting: (() => void)[] = [];
  let depth = 0;
  const after = (effect: () => void) => void waiting.push(effect);

  // Not Bun's `sqlite.transaction`: its statements outlive `close`, and with them the connection and its locks.
  function bracket<T>(work: () => T, begin: string, commit: string, undo: readonly string[]): T {
    const queued = waiting.length;
    sqlite.run(begin);
    depth++;
    try {
      const result = work();
      if (isPromise(result))
        throw new TypeError("A transaction must not be async: it would end at its first await");
      sqlite.run(commit);
      return result;
    } catch (error) {
      waiting.length = queued;
      // SQLite has rolled back by itself after some errors (full disk, I/O).
      if (sqlite.inTransaction) for (const statement of undo) sqlite.run(statement);
      throw error;
    } finally {
      depth--;
    }
  }

  function runEffects(): void {
    const effects = waiting;
    waiting = [];
    for (const effect of effects) {
      try {
        effect();
      } catch (error) {
        onEffectError(error);
      }
    }
  }

  return (work, { durable = false } = {}) => {
    const run = () => work({ after });
    if (depth > 0) {
      const name = `s${depth}`;
      return bracket(run, `SAVEPOINT ${name}`, `RELEASE ${name}`, [`ROLLBACK TO ${name}`, `RELEASE ${name}`]);
    }
    // The level can only be changed between transactions.
    if (durable) sqlite.run("PRAGMA synchronous = FULL");
    let result: ReturnType<typeof run>;
    try {
      // IMMEDIATE: a transaction that reads first and then finds another writer ahead fails at once, without waiting.
      result = bracket(run, "BEGIN IMMEDIATE", "COMMIT", ["ROLLBACK"]);
    } finally {
      if (durable) sqlite.run("PRAGMA synchronous = NORMAL");
    }
    runEffects();
    return result;
  };
}

function isPromise(value: unknown): boolean {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}
