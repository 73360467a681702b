import { messageOf } from "../domain/error-code.ts";
import type { Log } from "../domain/log.ts";
import { repeat } from "../domain/time/clock.ts";
import type { Pool } from "./database/connect.ts";

/** Interval of looks without a notification; notifications are lost with their connection. */
const LOOK_MS = 1_000;
/**
 * Minimum time between looks after many of them: 300 sites notify thirty times a second. An idle hub looks
 * at once.
 */
const REST_MS = 100;
const SAVED_MS = 3_000;

export type Watch = Awaited<ReturnType<typeof createWatch>>;

/**
 * Runs `look` after a hub has written something, and at least once a second. Logs the first failure and the
 * recovery.
 */
export async function createWatch(pool: Pool, look: () => Promise<void>, log: Log) {
  let running: Promise<void> | null = null;
  let again = false;
  /** Earliest time of the next look, by `performance.now()`. */
  let next = 0;
  let failing = false;

  async function run(): Promise<void> {
    try {
      do {
        again = false;
        await look();
        const now = performance.now();
        next = Math.max(next, now - SAVED_MS) + REST_MS;
        if (next > now) await Bun.sleep(next - now);
      } while (again);
      if (failing) log.info("The hub's database is responding again");
      failing = false;
    } catch (error) {
      if (!failing) log.error("The hub's database is not responding", { error: messageOf(error) });
      failing = true;
    }
  }

  function wake(): void {
    again = true;
    running ??= run().finally(() => {
      running = null;
    });
  }

  const subscription = await pool.listen("licmond", wake, wake);
  const end = repeat(LOOK_MS, wake);
  return {
    wake,
    isFailing: () => failing,
    async stop() {
      end();
      await subscription.unlisten().catch(() => {});
      await running;
    },
  };
}
