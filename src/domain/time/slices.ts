/** Work in short steps with turns of the event loop between, so that a large site delays nothing else. */
export type RunInSlices = <T>(steps: Generator<void, T>) => Promise<T>;

/** Steps that go on for longer than this yield the event loop. */
const SLICE_MS = 4;

/** Settles in another turn of the event loop, when what waits in this one is done. */
export function nextTurn(): Promise<void> {
  return new Promise((resume) => setImmediate(resume));
}

/** `now` is milliseconds of a clock that never jumps. */
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
