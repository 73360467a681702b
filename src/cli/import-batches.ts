import type { Store } from "../store/open.ts";

/** Rows in one transaction where nobody waits for it; so many are gathered. */
const ROWS_ALONE = 20_000;
/** Beside a daemon, which cannot write while a transaction goes on: how long one should take, and the rows of the first. */
const HOLD_MS = 8;
const ROWS_BESIDE = 200;
const [LEAST_ROWS, MOST_ROWS] = [50, 4_000];
const LONGEST_BREAK_MS = 20;

export interface Batches {
  /** So many rows are worth a write. */
  readonly enough: number;
  /** Works on rows in transactions, some at a time. Rejects with StoreError. */
  write<Row>(rows: readonly Row[], work: (some: readonly Row[]) => void): Promise<void>;
}

/**
 * Alone in large transactions: what many rows change of one page is written once. Beside a daemon in ones so small that
 * it hardly waits, with as much time between them for its own. The write-ahead log is written back between them.
 */
export function createBatches(store: Store, beside: { writeBack(): void } | null): Batches {
  let size = beside === null ? ROWS_ALONE : ROWS_BESIDE;
  let unwritten = 0;
  return {
    enough: beside === null ? ROWS_ALONE : MOST_ROWS,
    async write(rows, work) {
      for (let at = 0; at < rows.length; ) {
        const some = rows.slice(at, at + size);
        at += some.length;
        const startedAt = performance.now();
        store.transaction(() => work(some));
        if (beside === null) continue;
        const took = performance.now() - startedAt;
        unwritten += some.length;
        if (unwritten >= MOST_ROWS) {
          beside.writeBack();
          unwritten = 0;
        }
        // Some of it is no matter of rows: a wait for the daemon's own transaction.
        const factor = Math.min(2, Math.max(0.5, HOLD_MS / took));
        if (some.length === size) size = Math.min(MOST_ROWS, Math.max(LEAST_ROWS, Math.round(size * factor)));
        await Bun.sleep(Math.min(LONGEST_BREAK_MS, Math.max(1, took)));
      }
    },
  };
}
