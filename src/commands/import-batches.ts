import type { Store } from "../store/open.ts";

/** Rows in one transaction where nobody waits for it. */
export const ROWS_ALONE = 20_000;
/** Beside a daemon, which cannot write while a transaction goes on: how long one should take, and the rows of the first. */
const HOLD_MS = 4;
const ROWS_BESIDE = 100;
const [LEAST_ROWS, MOST_ROWS] = [20, 2_000];

/** Works on rows in transactions, some at a time. Rejects with StoreError. */
export type InBatches = <Row>(rows: readonly Row[], work: (some: readonly Row[]) => void) => Promise<void>;

/**
 * Alone in large transactions: what many rows change of one page is written once. Beside a daemon in ones so small that
 * it hardly waits, with as much time between them for its own.
 */
export function createBatches(store: Store, beside: boolean): InBatches {
  let size = beside ? ROWS_BESIDE : ROWS_ALONE;
  return async (rows, work) => {
    for (let at = 0; at < rows.length; ) {
      const some = rows.slice(at, at + size);
      at += some.length;
      const startedAt = performance.now();
      store.transaction(() => work(some));
      if (!beside) continue;
      const took = performance.now() - startedAt;
      const fitting = Math.round(some.length * Math.min(2, HOLD_MS / Math.max(took, 0.1)));
      size = Math.min(MOST_ROWS, Math.max(LEAST_ROWS, fitting));
      await Bun.sleep(Math.max(1, took));
    }
  };
}
