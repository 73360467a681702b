import { messageOf } from "../domain/error-code.ts";
import type { Log } from "../domain/log.ts";
import { StoreError } from "../store/database/store-error.ts";

export interface HistoryTimers {
  set(work: () => void, ms: number): unknown;
  clear(timer: unknown): void;
}

/** Work in the background, a slice after the other. */
export interface Loop {
  start(): void;
  stop(): void;
}

/** Between two slices of 5 ms others get the event loop. */
const PAUSE_MS = 20;

/** `step` does a slice and answers whether there is more; without more it is asked again after `idleMs`. */
export function createLoop(
  step: () => boolean | Promise<boolean>,
  idleMs: number,
  failed: string,
  timers: HistoryTimers,
  log: Log,
): Loop {
  let timer: unknown = null;
  let failing = false;
  let stopped = true;

  async function run(): Promise<void> {
    let wait = idleMs;
    try {
      if (await step()) wait = PAUSE_MS;
      failing = false;
    } catch (error) {
      if (!failing && !stopped)
        log.warn(`${failed}, it is tried again`, {
          error: messageOf(error),
          fix: error instanceof StoreError ? error.fix : null,
        });
      failing = true;
    }
    if (!stopped) timer = timers.set(() => void run(), wait);
  }

  return {
    start() {
      stopped = false;
      timer = timers.set(() => void run(), PAUSE_MS);
    },
    stop() {
      stopped = true;
      if (timer !== null) timers.clear(timer);
      timer = null;
    },
  };
}
