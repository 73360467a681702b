export interface Reader {
  waiting(): number;
  /** Time at which it last took bytes, monotonic ms. */
  readonly tookAt: number;
}

/** A cut leaves this share of the budget, so that the next one is not due at once. */
const LEFT_SHARE = 3 / 4;

/**
 * Limits the waiting bytes of all readers. Above the budget, `cut` gets the readers that took nothing for the
 * longest time.
 * Counting visits every reader, so it runs only after enough bytes were sent to exceed the budget.
 */
export function createSendBudget<R extends Reader>(
  readers: Iterable<R>,
  limit: () => number,
  cut: (slowest: readonly R[], bytes: number) => void,
  nextTurn: (work: () => void) => void = setImmediate,
) {
  /** Upper bound: the last count and everything sent since. */
  let most = 0;
  let isDue = false;

  function count(): void {
    isDue = false;
    const behind = [...readers].map((reader) => ({ reader, bytes: reader.waiting() }));
    most = behind.reduce((sum, { bytes }) => sum + bytes, 0);
    if (most <= limit()) return;
    const before = most;
    const slowest: R[] = [];
    for (const { reader, bytes } of behind.sort((a, b) => a.reader.tookAt - b.reader.tookAt)) {
      if (most <= limit() * LEFT_SHARE) break;
      if (bytes === 0) continue;
      most -= bytes;
      slowest.push(reader);
    }
    cut(slowest, before);
  }

  return {
    sent(bytes: number): void {
      most += bytes;
      if (isDue || most <= limit()) return;
      isDue = true;
      // Most readers have taken these bytes by the next turn.
      nextTurn(count);
    },
  };
}
