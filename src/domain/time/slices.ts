/**
 * Runs work in short steps with turns of the event loop in between, so that a large site delays nothing else.
 */
export type RunInSlices = <T>(steps: Generator<void, T>) => Promise<T>;

/** Steps that take longer than this yield the event loop. */
const SLICE_MS = 4;

/** Resolves in the next turn of the event loop, after everything queued in this one. */
export function nextTurn(): Promise<void> {
  return new Promise((resume) => setImmediate(resume));
}

/** `now` returns milliseconds of a monotonic clock. */
export function createSlices(
  now: () => number = () => performance.now(),
  turn: () => Promise<void> = nextTurn,
): RunInSlices {
  return async (steps) => {
    let began = now();
    for (;;) {
      const step = steps.next();
      if (step.done === true) return step.value;
      if (now() - began < SLICE_MS) continue;
      await turn();
      began = now();
    }
  };
}

export const inSlices: RunInSlices = createSlices();
