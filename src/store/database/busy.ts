import type { Database } from "bun:sqlite";
import type { Log } from "../../domain/log.ts";
import { StoreError } from "./store-error.ts";

/** After a write that waited in vain, others fail at once for so long: the event loop has its turns meanwhile. */
const HOT_MS = 1_000;
/** Until then a lock is no trouble that anybody has to be told of: another licmond at work, a shell on the database. */
const TROUBLE_MS = 5_000;
/** Whoever can wait tries again for so long. Below the 30 s after which a silent connection of a client is cut. */
const PATIENCE_MS = 25_000;
/** The last writes of a process wait for each other's sake only once. */
const LAST_WAIT_MS = 5_000;

/**
 * How long writes wait while another program holds the write lock of the database. SQLite waits in the thread that asks:
 * in a daemon, in the event loop. So a connection that serves waits for a moment only, at most once a second, and
 * whoever can wait tries again later (`whenFree`, the bus).
 */
export interface BusyWait {
  /** Called before each transaction, and after it with what came of it; null = it went well. */
  before(): void;
  after(error: unknown): void;
  /** The lock has been held for so long that somebody should know. */
  isTrouble(): boolean;
  /** How long to try again; 0 = now or never. */
  patienceMs(): number;
  /** Whether this is a failure that passes by itself, and the lock has not been held for longer than that yet. */
  isWorthWaiting(error: unknown): boolean;
  /** The process ends: what is written now waits itself, all of it together for some seconds. */
  ending(): void;
}

/** `waitMs` as long as a write waits in the connection's thread; null = as the connection has it, and nobody tries again. */
export function createBusyWait(
  sqlite: Pick<Database, "run">,
  waitMs: number | null,
  log: Log,
  now: () => number = () => performance.now(),
): BusyWait {
  let wanted = waitMs;
  let set: number | null = null;
  let hotUntil = Number.NEGATIVE_INFINITY;
  let since: number | null = null;
  let hotMs = HOT_MS;
  let isTold = false;

  const isTrouble = () => waitMs === null || (since !== null && now() - since >= TROUBLE_MS);
  const patienceMs = () => (wanted === null || wanted !== waitMs ? 0 : PATIENCE_MS);
  const tell = () => {
    if (waitMs === null || isTold === isTrouble()) return;
    isTold = !isTold;
    if (!isTold) log.info("The database is no longer locked");
    else
      log.warn("Another program keeps the database locked: what is to be written waits for it", {
        fix: "Look for programs that have the file open (fuser) and end them",
      });
  };

  return {
    before() {
      if (wanted === null) return;
      const wait = now() < hotUntil ? 0 : wanted;
      if (wait !== set) sqlite.run(`PRAGMA busy_timeout = ${wait}`);
      set = wait;
    },
    after(error) {
      if (isBusy(error)) {
        const at = now();
        since ??= at;
        // One that failed at once says nothing new of how long to leave it alone.
        if (at >= hotUntil) hotUntil = at + hotMs;
      } else if (error === null) {
        since = null;
        hotUntil = Number.NEGATIVE_INFINITY;
      }
      tell();
    },
    // Without trying again one failure is trouble: it has waited.
    isTrouble,
    patienceMs,
    isWorthWaiting: (error) => isBusy(error) && (since === null ? 0 : now() - since) < patienceMs(),
    ending() {
      if (wanted === null) return;
      wanted = LAST_WAIT_MS;
      hotMs = Number.POSITIVE_INFINITY;
      hotUntil = Number.NEGATIVE_INFINITY;
    },
  };
}

/** Whether another program's lock was in the way, which goes away by itself. */
export function isBusy(error: unknown): boolean {
  return error instanceof StoreError && error.code === "BUSY";
}

/** Between two tries others get the event loop. */
const RETRY_MS = 100;

/** Does a write again as long as another program's lock is in its way. Rejects with what `work` throws in the end. */
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
