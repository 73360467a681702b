import type { Database } from "bun:sqlite";
import type { Log } from "../../domain/log.ts";
import { StoreError } from "./store-error.ts";

/** After a write that waited in vain, others fail at once for so long: the event loop has its turns meanwhile. */
const HOT_MS = 1_000;
/** A shorter lock needs no report, and the live picture waits for it: another licmond at work, a shell on the database. */
const TROUBLE_MS = 5_000;
/** Callers that can retry do so for up to this long. Below the 30 s after which a silent connection of a client is cut. */
const PATIENCE_MS = 25_000;
/** How long the first of the last writes of a process waits; the others then fail at once. */
const LAST_WAIT_MS = 5_000;

/**
 * How long writes wait while another program holds the write lock of the database. SQLite waits in the calling thread: in
 * a daemon, in the event loop. So a connection that serves waits for a moment only, at most once a second, and callers
 * that can wait try again later (`whenFree`, the bus).
 *
 * `waitMs`: how long a write waits in the connection's thread; null = as the connection is set, without retries.
 */
export function createBusyWait(
  sqlite: Pick<Database, "run">,
  waitMs: number | null,
  log: Log,
  now: () => number = () => performance.now(),
) {
  let wanted = waitMs;
  let set: number | null = null;
  let hotUntil = Number.NEGATIVE_INFINITY;
  let since: number | null = null;
  let isEnding = false;
  let isReported = false;

  const lockedMs = () => (since === null ? 0 : now() - since);
  // Without retries one failure is trouble: it has waited.
  const isTrouble = () => waitMs === null || lockedMs() >= TROUBLE_MS;
  const patienceMs = () => (wanted === null || isEnding ? 0 : PATIENCE_MS);
  const report = () => {
    if (waitMs === null || isReported === isTrouble()) return;
    isReported = !isReported;
    if (!isReported) log.info("The database is no longer locked");
    else
      log.warn("Another program keeps the database locked: what is to be written waits for it", {
        fix: "Look for programs that have the file open (fuser) and end them",
      });
  };

  return {
    /** To be called before each transaction. */
    before(): void {
      if (wanted === null) return;
      const wait = now() < hotUntil ? 0 : wanted;
      if (wait !== set) sqlite.run(`PRAGMA busy_timeout = ${wait}`);
      set = wait;
    },
    /** To be called after each transaction with its error; null = it went well. */
    after(error: unknown): void {
      if (isBusy(error)) {
        const at = now();
        since ??= at;
        // A write that failed at once says nothing new of how long to leave the lock alone.
        if (at >= hotUntil) hotUntil = isEnding ? Number.POSITIVE_INFINITY : at + HOT_MS;
      } else if (error === null) {
        since = null;
        hotUntil = Number.NEGATIVE_INFINITY;
      }
      report();
    },
    /** The lock has been held for so long that an administrator should know. */
    isTrouble,
    /** How long to try again; 0 = now or never. */
    patienceMs,
    /** Whether the live picture should wait for this lock, so that nothing is published without being stored. */
    isWorthWaiting: (error: unknown): boolean => isBusy(error) && patienceMs() > 0 && lockedMs() < TROUBLE_MS,
    /** The process ends: what is written now waits itself, all of it together for some seconds. */
    ending(): void {
      if (wanted === null) return;
      wanted = LAST_WAIT_MS;
      isEnding = true;
      hotUntil = Number.NEGATIVE_INFINITY;
    },
  };
}

/** Whether another program's lock was in the way, which goes away by itself. */
export function isBusy(error: unknown): boolean {
  return error instanceof StoreError && error.code === "BUSY";
}

/** Between two tries the event loop is free for others. */
const RETRY_MS = 100;

/** Repeats a write as long as another program's lock is in its way. Rejects with what `work` throws in the end. */
export async function whenFree<T>(
  work: () => T,
  { patienceMs }: { readonly patienceMs: () => number },
): Promise<T> {
  const begun = performance.now();
  for (;;) {
    try {
      return work();
    } catch (error) {
      if (!isBusy(error) || performance.now() - begun >= patienceMs()) throw error;
    }
    await Bun.sleep(RETRY_MS);
  }
}
