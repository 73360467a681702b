import type { Database } from "bun:sqlite";
import type { Log } from "../../domain/log.ts";
import { StoreError } from "./store-error.ts";

/**
 * Time after a timed-out write during which further writes to a locked database fail at once, so that they
 * do not block the event loop again.
 */
const HOT_MS = 1_000;
/** Time after which a lock is reported. Until then, the live picture waits for the lock. */
const TROUBLE_MS = 5_000;
/**
 * Maximum time for which callers retry a write. It is shorter than the 30 s after which silent client
 * connections are closed.
 */
const PATIENCE_MS = 25_000;
/**
 * Maximum time for which a write waits once the process is ending. If one of these writes times out, the
 * later ones do not wait.
 */
const LAST_WAIT_MS = 5_000;

/**
 * Limits the waiting time of writes while another program holds the database's write lock. SQLite waits in
 * the calling thread, which in a daemon runs the event loop. So a serving connection waits only briefly, at
 * most once a second, and callers that can wait retry later (`whenFree`, the bus).
 *
 * `waitMs`: time that a write waits in the connection's thread. Null keeps the connection's setting and
 * disables retries.
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
  // Without retries, one failure is enough, because that write has already waited.
  const isTrouble = () => waitMs === null || lockedMs() >= TROUBLE_MS;
  const patienceMs = () => (wanted === null || isEnding ? 0 : PATIENCE_MS);
  const report = () => {
    if (waitMs === null || isReported === isTrouble()) return;
    isReported = !isReported;
    if (!isReported) log.info("The database is no longer locked");
    else
      log.warn("Another program keeps the database locked; writes are waiting", {
        fix: "Look for programs that have the file open (fuser) and stop them",
      });
  };

  return {
    before(): void {
      if (wanted === null) return;
      const wait = now() < hotUntil ? 0 : wanted;
      if (wait !== set) sqlite.run(`PRAGMA busy_timeout = ${wait}`);
      set = wait;
    },
    after(error: unknown): void {
      if (isBusy(error)) {
        const at = now();
        since ??= at;
        // A write that failed at once does not extend the pause.
        if (at >= hotUntil) hotUntil = isEnding ? Number.POSITIVE_INFINITY : at + HOT_MS;
      } else if (error === null) {
        since = null;
        hotUntil = Number.NEGATIVE_INFINITY;
      }
      report();
    },
    /** Reports whether the lock has been held so long that an administrator should know. */
    isTrouble,
    patienceMs,
    /**
     * Reports whether the live picture should wait for this lock, so that nothing is published without being
     * stored.
     */
    isWorthWaiting: (error: unknown): boolean => isBusy(error) && patienceMs() > 0 && lockedMs() < TROUBLE_MS,
    /** Makes the last writes of an ending process wait in the thread, together for a few seconds. */
    ending(): void {
      if (wanted === null) return;
      wanted = LAST_WAIT_MS;
      isEnding = true;
      hotUntil = Number.NEGATIVE_INFINITY;
    },
  };
}

export function isBusy(error: unknown): boolean {
  return error instanceof StoreError && error.code === "BUSY";
}

const RETRY_MS = 100;

/** Retries a write while another program holds the lock. Rejects with the last error of `work`. */
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
