/**
 * Calls `tick` `count` times, `perSecond` times a second. Due times are counted from the start, so that
 * late timers do not slow the pace. After a late call, the next ones come a little faster, but never in a
 * burst: a server could write the events of a burst in one piece, which is less work.
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

/** Minimum time between two calls, as a share of the intended time. */
const SHORTEST_STEP = 0.75;
