/**
 * Calls `tick` `count` times, `perSecond` a second: each is due at a time counted from the beginning, so that late timers
 * do not add up to a slower pace. What is late is made up for one by one, a little faster, and never as a burst: servers
 * that are told several events at once would write them in one piece, and no longer be asked for the same work.
 */
export async function pace(count: number, perSecond: number, tick: () => unknown): Promise<void> {
  const stepMs = 1000 / perSecond;
  const begunAt = performance.now();
  let last = -Infinity;
  for (let index = 0; index < count; index++) {
    const dueAt = Math.max(begunAt + index * stepMs, last + stepMs * SHORTEST_STEP);
    await Bun.sleep(Math.max(0, dueAt - performance.now()));
    last = performance.now();
    tick();
  }
}

/** The part of a step that two calls are apart at least. */
const SHORTEST_STEP = 0.75;
