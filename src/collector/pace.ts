import type { MonitoredServer } from "../domain/server.ts";

interface TurnsDeps {
  readonly now: () => number;
  /** Resolves in the next turn of the event loop. */
  readonly afterLoop: () => Promise<void>;
  readonly rest: (ms: number) => Promise<void>;
}

const PROCESS: TurnsDeps = {
  now: () => performance.now(),
  afterLoop: () => new Promise((resume) => setImmediate(resume)),
  rest: (ms) => Bun.sleep(ms),
};

/**
 * Rest after a turn, as a multiple of the turn's duration. Measured: during polls of a large site, the
 * slowest answers took 3 times as long with a factor of 1, 2–3 times with 2, and twice with 3.
 */
const REST = 3;
/**
 * Maximum length of a rest. Without this limit, the rest would be long after the process or the machine was
 * suspended.
 */
const LONGEST_REST_MS = 50;

/**
 * Gives each caller a turn of the event loop, in order, so that requests are answered between the outputs
 * of tools that end at the same time. While requests wait, each turn is followed by a rest of three times
 * its length, so polls get a quarter of the event loop. Otherwise turns follow each other without rests.
 */
export function createTurns(requestsWant: () => boolean, deps: TurnsDeps = PROCESS): () => Promise<void> {
  const { now, afterLoop, rest } = deps;
  let last: Promise<void> = Promise.resolve();
  let restsUntil = 0;

  async function next(): Promise<void> {
    await afterLoop();
    const left = restsUntil - now();
    if (left > 0 && requestsWant()) await rest(left);
    const begunAt = now();
    // Resolves after the caller's synchronous work is done.
    void afterLoop().then(() => {
      const endedAt = now();
      restsUntil = endedAt + Math.min(LONGEST_REST_MS, REST * (endedAt - begunAt));
    });
  }

  return () => (last = last.then(next));
}

/** Maximum back-off, unless the interval itself is longer. */
const MAX_BACKOFF_MS = 10 * 60_000;
/**
 * Maximum time over which first polls are spread. With a shorter interval, they are spread over the
 * interval.
 */
const MAX_SPREAD_MS = 10_000;
/**
 * Maximum random variation, as a share of the delay until the next poll, so that servers are not polled in
 * lockstep.
 */
const JITTER = 0.1;
const MIN_GAP = 0.1;

type Paced = Pick<MonitoredServer, "intervalMs">;

/**
 * Returns the delay of a server's first poll after the start. The first `concurrency` servers have no
 * delay, and the other servers are spread evenly. `index` counts the enabled servers in the config's order.
 */
export function firstDelayMs(server: Paced, index: number, count: number, concurrency: number): number {
  if (index < concurrency) return 0;
  const spread = Math.min(server.intervalMs, MAX_SPREAD_MS);
  return Math.round((spread * (index - concurrency + 1)) / (count - concurrency));
}

/**
 * Returns the time of a server's next poll. `failures` counts consecutive failures including this poll. The
 * first retry comes after one interval. Then the delay doubles up to 10 minutes, or up to the interval if
 * the interval is longer. `random` is in [0, 1).
 */
export function nextPollTime(
  { intervalMs }: Paced,
  poll: { readonly startedAt: number; readonly finishedAt: number },
  failures: number,
  random: number,
): number {
  const doublings = Math.min(Math.max(failures - 1, 0), 30);
  const base = Math.min(intervalMs * 2 ** doublings, Math.max(intervalMs, MAX_BACKOFF_MS));
  const delay = base * (1 - JITTER + 2 * JITTER * random);
  return Math.round(Math.max(poll.startedAt + delay, poll.finishedAt + delay * MIN_GAP));
}

/**
 * Reports whether a server's last poll started within its interval plus a quarter. The quarter allows for
 * jitter and the wait for a slot.
 */
export function isInPace({ intervalMs }: Paced, askedAt: number | null, now: number): boolean {
  return askedAt !== null && now - askedAt <= intervalMs * 1.25;
}
