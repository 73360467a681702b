import { messageOf } from "../domain/error-code.ts";
import type { Log } from "../domain/log.ts";

/** A step that takes longer is abandoned, so that the others are done before the service manager kills the process. */
const STEP_MS = 6_000;

/** What must be undone, noted as it is done: the end mirrors the start, also of a start that failed half way. */
export function createTeardown(log: Pick<Log, "error">, stepMs: number = STEP_MS) {
  const steps: { readonly what: string; readonly undo: () => void | Promise<void> }[] = [];
  return {
    add: (what: string, undo: () => void | Promise<void>) => void steps.push({ what, undo }),
    /** Notes that a part has to be stopped, and answers the part. */
    part<T extends { stop(): void | Promise<void> }>(what: string, part: T): T {
      steps.push({ what, undo: () => part.stop() });
      return part;
    },
    /** Undoes everything, the last first. A step that fails or hangs is logged and does not keep the others from theirs. */
    async run(): Promise<void> {
      for (let step = steps.pop(); step !== undefined; step = steps.pop()) {
        try {
          await inTime(step.undo(), stepMs);
        } catch (error) {
          log.error("A part did not end well", { part: step.what, error: messageOf(error) });
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
