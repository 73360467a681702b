import type { MonitoredServer } from "../domain/server.ts";

interface TurnsDeps {
  /** Milliseconds of a clock that only grows. */
  readonly now: () => number;
  /** Settles in another turn of the event loop, when what waits in this one is done. */
  readonly afterLoop: () => Promise<void>;
  readonly rest: (ms: number) => Promise<void>;
}

const PROCESS: TurnsDeps = {
  now: () => performance.now(),
  afterLoop: () => new Promise((resume) => setImmediate(resume)),
  rest: (ms) => Bun.sleep(ms),
};

/** Times a turn. The slowest answers of a large site took 3 times as long as at rest with 1, 2 to 3 times with 2, twice with 3. */
const REST = 3;
/** A process that was stopped for an hour, or a paused machine, must not rest for two hours. */
const LONGEST_REST_MS = 50;

/**
 * Gives each caller a turn of the event loop, in the order of the calls. When several tools end at the same moment, their
 * outputs are worked on one by one, and requests are answered between.
 *
 * While requests want the loop, each turn waits three times as long as the one before it took: polls that come thick and
 * fast then have a quarter of the loop, and requests the rest. Otherwise polls have all of it.
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
    // Asked for before the caller goes on: it settles when what the caller does at once is done.
    void afterLoop().then(() => {
      const endedAt = now();
      restsUntil = endedAt + Math.min(LONGEST_REST_MS, REST * (endedAt - begunAt));
    });
  }

  return () => (last = last.then(next));
}

/** Back-off never waits longer than this, unless the interval itself is longer. */
const MAX_BACKOFF_MS = 10 * 60_000;
/** First polls are spread over this time, or over the interval if it is shorter. */
const MAX_SPREAD_MS = 10_000;
/** Share of the interval by which a poll may come early or late, so that servers do not march in step. */
const JITTER = 0.1;
/** Share of the delay that lies between two polls at least, however long they take. */
const MIN_GAP = 0.1;

type Paced = Pick<MonitoredServer, "intervalMs">;

/**
 * Delay of a server's first poll after the start. As many as may run at once begin at once, the others spread evenly.
 * `index` counts the enabled servers in the config's order.
 */
export function firstDelayMs(server: Paced, index: number, count: number, concurrency: number): number {
  if (index < concurrency) return 0;
  const spread = Math.min(server.intervalMs, MAX_SPREAD_MS);
  return Math.round((spread * (index - concurrency + 1)) / (count - concurrency));
}

/**
 * Time of a server's next poll. `failures` counts those in a row, this poll included: the first retry comes after one
 * interval, then it doubles, up to 10 minutes (or the interval, if that is longer). `random` is in [0, 1).
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

/** Whether a server's last poll began within its interval, which jitter and the wait for a place may make longer by a quarter. */
export function isInPace({ intervalMs }: Paced, askedAt: number | null, now: number): boolean {
  return askedAt !== null && now - askedAt <= intervalMs * 1.25;
}
