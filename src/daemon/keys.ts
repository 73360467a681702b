import type { Clock } from "../domain/clock.ts";
import type { LogOf } from "../domain/log.ts";
import { systemTimers } from "../domain/timers.ts";
import { createKeys, type Keys } from "../store/keys.ts";
import type { Store } from "../store/open.ts";
import { createQuotas, type Quotas } from "../store/quotas.ts";
import { createKeyWatch } from "./key-watch.ts";

/** Uses of keys are written this often; a kill may forget the last ones. */
const KEY_FLUSH_MS = 10_000;
/** Requests counted for quotas are written this often: what `kill -9` may forget. */
const QUOTA_FLUSH_MS = 1_000;

/** Keys, what the command line does to them, and what they have used. */
export interface KeyRoom {
  readonly keys: Keys;
  readonly quotas: Quotas;
  /** Writes what is not written yet; throws when the store does not take it. */
  stop(): void;
}

export function createKeyRoom(store: Store, clock: Clock, log: LogOf): KeyRoom {
  const watch = createKeyWatch({
    ...{ store, keys: createKeys({ store, clock }), log: log("audit"), timers: systemTimers },
  });
  const { keys } = watch;
  const quotas = createQuotas({ store, clock });
  const attempt = (message: string, work: () => void) => {
    let failing = false;
    return () => {
      try {
        work();
        failing = false;
      } catch (error) {
        // They stay noted, and the next time they are written: once is enough to say so.
        if (!failing)
          log("store").warn(message, { error: error instanceof Error ? error.message : String(error) });
        failing = true;
      }
    };
  };
  const timers = [
    setInterval(attempt("Uses of keys were not written", keys.flush), KEY_FLUSH_MS),
    setInterval(attempt("Requests counted for quotas were not written", quotas.flush), QUOTA_FLUSH_MS),
  ];
  return {
    keys,
    quotas,
    stop() {
      watch.stop();
      for (const timer of timers) clearInterval(timer);
      try {
        quotas.flush();
      } finally {
        keys.flush();
      }
    },
  };
}
