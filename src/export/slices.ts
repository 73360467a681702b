/** Work in short steps with turns of the event loop between, so that a large site holds nobody up. */
export type RunInSlices = (steps: Iterable<void>) => Promise<void>;

/** Steps that go on for longer than this let others have their turn. */
const SLICE_MS = 4;

/** `now` is milliseconds of a clock that never jumps. */
export function createSlices(
  now: () => number = () => performance.now(),
  turn: () => Promise<void> = () => new Promise((resume) => setImmediate(resume)),
): RunInSlices {
  return async (steps) => {
    let began = now();
    for (const _ of steps) {
      if (now() - began < SLICE_MS) continue;
      await turn();
      began = now();
    }
  };
}
