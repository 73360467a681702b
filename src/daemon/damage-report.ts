import type { Clock } from "../domain/clock.ts";
import type { Log } from "../domain/log.ts";
import { examineInWorker } from "../store/backup/worker.ts";
import type { Store } from "../store/open.ts";
import { corrupt, StoreError } from "../store/store-error.ts";

/** After an alarm that turned out to be false, all of a large database is not read again for so long. */
const QUIET_MS = 10 * 60_000;

export interface DamageReportDeps {
  readonly store: Pick<Store, "path" | "metDamage">;
  readonly clock: Clock;
  readonly log: Log;
  /** Reads a whole database elsewhere than in this thread; rejects with a StoreError. Tests give their own. */
  readonly examine?: (path: string) => Promise<unknown>;
}

/**
 * Takes the word of a reader with a connection of its own, the worker of history, that it met damage. All of the database
 * is read first, in a thread of its own: only what is found damaged there is treated as damage that a query here met.
 */
export function createDamageReport({ store, clock, log, examine = inBackground }: DamageReportDeps) {
  let isBusy = false;
  let quietUntil = Number.NEGATIVE_INFINITY;

  async function confirm(reason: string): Promise<void> {
    try {
      await examine(store.path);
      quietUntil = clock.now() + QUIET_MS;
      log.warn("A query of history met damage that reading all of the database does not find", { reason });
    } catch (error) {
      if (error instanceof StoreError && error.code === "CORRUPT")
        store.metDamage(corrupt(error.message, error));
      else
        log.warn("A query of history met damage, and the database could not be read to confirm it", {
          reason,
          error: error instanceof Error ? error.message : String(error),
        });
    }
  }

  return (met: StoreError): void => {
    const now = clock.now();
    // A clock that was put back must not keep it quiet.
    if (isBusy || (now < quietUntil && quietUntil - now <= QUIET_MS)) return;
    isBusy = true;
    void confirm(met.message).finally(() => {
      isBusy = false;
    });
  };
}

function inBackground(path: string): Promise<unknown> {
  return examineInWorker(path, { background: true });
}
