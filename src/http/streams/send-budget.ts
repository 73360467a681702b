/** A reader whose bytes wait in the daemon. */
export interface Reader {
  /** Bytes that wait for it. */
  waiting(): number;
  /** When it last took bytes, in ms of a monotonic clock. */
  readonly tookAt: number;
}

/** A cut goes down to this share of the budget, so that the next one is not due at once. */
const LEFT_SHARE = 3 / 4;

/**
 * Bounds the bytes that wait for all readers together. When the budget is used up, `cut` gets the slowest readers: those
 * that took nothing for the longest time.
 *
 * Counting visits every reader, so readers are counted only after enough bytes were sent to use up the budget.
 */
export function createSendBudget<R extends Reader>(
  readers: Iterable<R>,
  limit: () => number,
  cut: (slowest: readonly R[], bytes: number) => void,
  nextTurn: (work: () => void) => void = setImmediate,
) {
  /** Upper bound of the waiting bytes: the last count, and everything that was sent since. */
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
    /** Adds bytes that were sent to a reader. */
    sent(bytes: number): void {
      most += bytes;
      if (isDue || most <= limit()) return;
      isDue = true;
      // Readers that keep up have taken these bytes by then.
      nextTurn(count);
    },
  };
}
