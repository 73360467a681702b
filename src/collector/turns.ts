/**
 * One turn of the event loop for each who asks, in the order in which they ask. When several tools end at the same
 * moment, what their outputs make of work is done one by one, and requests are answered between.
 *
 * While others want the loop, each turn waits three times as long as the one before it took: polls that come thick and
 * fast then have a quarter of the loop, and the rest is the requests'. Where nobody else wants it the polls have all of
 * it, and while they are few none of them waits: the rest is over long before.
 */
export function createTurns(othersWant: () => boolean, deps: TurnsDeps = PROCESS): () => Promise<void> {
  const { now, afterLoop, rest } = deps;
  let last: Promise<void> = Promise.resolve();
  let restsUntil = 0;

  async function next(): Promise<void> {
    await afterLoop();
    const left = restsUntil - now();
    if (left > 0 && othersWant()) await rest(left);
    const begunAt = now();
    // Asked for before the caller goes on: it is over when what the caller does at once is done.
    void afterLoop().then(() => {
      const endedAt = now();
      restsUntil = endedAt + Math.min(LONGEST_REST_MS, REST * (endedAt - begunAt));
    });
  }

  return () => {
    last = last.then(next);
    return last;
  };
}

/** Times a turn. The slowest answers of a large site took 3 times as long as at rest with 1, 2 to 3 times with 2, twice with 3. */
const REST = 3;
/** A process that was stopped for an hour, or a paused machine, owes nobody two hours. */
const LONGEST_REST_MS = 50;

export interface TurnsDeps {
  /** Milliseconds of a clock that only grows. */
  readonly now: () => number;
  /** Settles in another turn of the event loop, when what waits in this one is done. */
  readonly afterLoop: () => Promise<void>;
  /** Settles after so many milliseconds. */
  readonly rest: (ms: number) => Promise<void>;
}

const PROCESS: TurnsDeps = {
  now: () => performance.now(),
  afterLoop: () => new Promise((resume) => setImmediate(resume)),
  rest: (ms) => Bun.sleep(ms),
};
