import { messageOf } from "../domain/error-code.ts";
import type { Log } from "../domain/log.ts";
import type { Timers } from "../domain/time/clock.ts";
import { StoreError } from "../store/database/store-error.ts";

/** Work in the background, one slice after the other. */
export type Loop = ReturnType<typeof createLoop>;

/** Between two slices of some ms the event loop goes on with other work. */
const PAUSE_MS = 20;

/**
 * `step` does a slice and answers whether there is more; without more it is called again after `idleMs`. A step that fails
 * is tried again too, and logged the first time.
 */
export function createLoop(
  step: () => boolean | Promise<boolean>,
  idleMs: number,
  failed: string,
  timers: Timers,
  log: Log,
) {
  let cancel = () => {};
  let failing = false;
  let stopped = true;

  async function run(): Promise<void> {
    let wait = idleMs;
    try {
      if (await step()) wait = PAUSE_MS;
      failing = false;
    } catch (error) {
      const fix = error instanceof StoreError ? error.fix : null;
      if (!failing && !stopped) log.warn(`${failed}, it is tried again`, { error: messageOf(error), fix });
      failing = true;
    }
    if (!stopped) cancel = timers.after(wait, () => void run());
  }

  return {
    start(): void {
      stopped = false;
      cancel = timers.after(PAUSE_MS, () => void run());
    },
    stop(): void {
      stopped = true;
      cancel();
    },
  };
}
