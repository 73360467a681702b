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
  const after = (effect: () => void) => void waiting.push(effect);
  // IMMEDIATE: a transaction that reads first and then finds another writer ahead fails at once, without waiting.
  const { immediate } = sqlite.transaction((work: (transaction: Transaction) => unknown) => {
    const result = work({ after });
    if (isPromise(result))
      throw new TypeError("A transaction must not be async: it would end at its first await");
    return result;
  });

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

  return <T>(work: (transaction: Transaction) => NotPromise<T>, options: TransactionOptions = {}) => {
    const isInner = sqlite.inTransaction;
    const queued = waiting.length;
    // The level can only be changed between transactions.
    const isDurable = options.durable === true && !isInner;
    if (isDurable) sqlite.run("PRAGMA synchronous = FULL");
    let result: T;
    try {
      result = immediate(work) as T;
    } catch (error) {
      waiting.length = queued;
      throw error;
    } finally {
      if (isDurable) sqlite.run("PRAGMA synchronous = NORMAL");
    }
    if (!isInner) runEffects();
    return result;
  };
}

function isPromise(value: unknown): boolean {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}
