/** Runs work in short steps, with turns of the event loop in between. */
export type RunInSlices = <T>(steps: Generator<void, T>) => Promise<T>;

const SLICE_MS = 4;

/** Resolves in the next turn of the event loop. */
export function nextTurn(): Promise<void> {
  return new Promise((resume) => setImmediate(resume));
}

/** `now` returns the time of a monotonic clock in ms. */
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
