import type { Database } from "bun:sqlite";

/** Refuses promises at compile time: a transaction that awaits is over at its first await. */
export type NotPromise<T> = T extends PromiseLike<unknown> ? never : T;

export interface Transaction {
  /** Queues work that tells the world (events, log lines): run after the commit, dropped on a rollback. */
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

export interface TransactionDeps {
  readonly sqlite: Database;
  /** An effect threw. Its transaction stands, and the other effects are run. */
  readonly onEffectError: (error: unknown) => void;
}

export function createTransaction({ sqlite, onEffectError }: TransactionDeps): RunTransaction {
  let waiting: (() => void)[] = [];
  let depth = 0;

  function nested<T>(work: () => T, begin: string, commit: string, undo: readonly string[]): T {
    const before = waiting.length;
    sqlite.run(begin);
    depth++;
    try {
      const result = work();
      if (isPromise(result))
        throw new TypeError("A transaction must not be async: it would end at its first await");
      sqlite.run(commit);
      return result;
    } catch (error) {
      waiting.length = before;
      // SQLite has rolled back by itself after some errors (full disk, I/O).
      if (sqlite.inTransaction) for (const statement of undo) sqlite.run(statement);
      throw error;
    } finally {
      depth--;
    }
  }

  function tell(): void {
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

  return (work, options = {}) => {
    const run = () => work({ after: (effect) => void waiting.push(effect) });
    if (depth > 0) {
      const name = `s${depth}`;
      return nested(run, `SAVEPOINT ${name}`, `RELEASE ${name}`, [`ROLLBACK TO ${name}`, `RELEASE ${name}`]);
    }
    // The level can only be changed between transactions.
    if (options.durable === true) sqlite.run("PRAGMA synchronous = FULL");
    let result: ReturnType<typeof run>;
    try {
      // IMMEDIATE: a transaction that reads first and then finds another writer ahead fails at once, without waiting.
      result = nested(run, "BEGIN IMMEDIATE", "COMMIT", ["ROLLBACK"]);
    } finally {
      if (options.durable === true) sqlite.run("PRAGMA synchronous = NORMAL");
    }
    tell();
    return result;
  };
}

function isPromise(value: unknown): boolean {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}
