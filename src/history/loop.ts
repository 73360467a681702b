import { messageOf } from "../domain/error-code.ts";
import type { Log } from "../domain/log.ts";
import type { Timers } from "../domain/time/clock.ts";
import { StoreError } from "../store/database/store-error.ts";

export type Loop = ReturnType<typeof createLoop>;

const PAUSE_MS = 20;

/**
 * Calls `step` repeatedly, after `idleMs` if it reports that nothing is left. A failed step is retried, and
 * logged the first time.
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
      if (!failing && !stopped) log.warn(`${failed}, retrying`, { error: messageOf(error), fix });
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
