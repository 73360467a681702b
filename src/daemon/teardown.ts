/** A step that takes longer is left behind: the others must have their turn before somebody loses patience. */
const STEP_MS = 6_000;

/** What must be undone, noted as it is done: the end mirrors the start, also of a start that failed half way. */
export interface Teardown {
  add(what: string, undo: () => void | Promise<void>): void;
  /** Undoes everything, the last first. A step that fails or hangs is told and does not keep the others from their turn. */
  run(): Promise<void>;
}

export function createTeardown(
  onError: (what: string, error: unknown) => void,
  stepMs: number = STEP_MS,
): Teardown {
  const steps: { readonly what: string; readonly undo: () => void | Promise<void> }[] = [];
  return {
    add: (what, undo) => void steps.push({ what, undo }),
    async run() {
      for (let step = steps.pop(); step !== undefined; step = steps.pop()) {
        try {
          await inTime(step.undo(), stepMs);
        } catch (error) {
          onError(step.what, error);
        }
      }
    },
  };
}

async function inTime(done: void | Promise<void>, ms: number): Promise<void> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`not done after ${ms} ms`)), ms);
  try {
    await Promise.race([done, late]);
  } finally {
    clearTimeout(timer);
  }
}
