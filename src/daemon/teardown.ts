import { messageOf } from "../domain/error-code.ts";
import type { Log } from "../domain/log.ts";

/** Time limit of a step, so that the others finish before the service manager kills the process. */
const STEP_MS = 6_000;

/** Collects what to stop, in order of creation. Also cleans up after a failed start. */
export function createTeardown(log: Pick<Log, "error">, stepMs: number = STEP_MS) {
  const steps: { readonly what: string; readonly undo: () => void | Promise<void> }[] = [];
  return {
    add: (what: string, undo: () => void | Promise<void>) => void steps.push({ what, undo }),
    /** Registers a part to stop, and returns it. */
    part<T extends { stop(): void | Promise<void> }>(what: string, part: T): T {
      steps.push({ what, undo: () => part.stop() });
      return part;
    },
    /** Stops everything in reverse order. Logs steps that fail or hang, and continues. */
    async run(): Promise<void> {
      for (let step = steps.pop(); step !== undefined; step = steps.pop()) {
        try {
          await inTime(step.undo(), stepMs);
        } catch (error) {
          log.error("Failed to stop a part", { part: step.what, error: messageOf(error) });
        }
      }
    },
  };
}

async function inTime(done: void | Promise<void>, ms: number): Promise<void> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`timed out after ${ms} ms`)), ms);
  try {
    await Promise.race([done, late]);
  } finally {
    clearTimeout(timer);
  }
}
