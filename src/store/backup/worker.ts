import { messageOf } from "../../domain/error-code.ts";
import { copyBoth, copyDatabase } from "../database/copy.ts";
import { StoreError, type StoreErrorCode } from "../database/store-error.ts";
import { examineDatabase } from "./examine.ts";

/** Work on whole databases, which is done in a thread of its own. */
const TASKS = { copyBoth, copyDatabase, examineDatabase };
type Tasks = typeof TASKS;

/** What crosses between the main thread and the worker. `code` null: a bug, which is no fault of the store. */
export type Asked = { readonly task: keyof Tasks; readonly args: readonly unknown[] };
export type Answered = { result: unknown } | { code: StoreErrorCode | null; message: string; fix: string };

/**
 * Does a task in a thread of its own, so that this one can show how far it is and be interrupted: rejects with the
 * signal's reason as soon as it is aborted, or with a StoreError.
 */
export async function inWorker<Name extends keyof Tasks>(
  signal: AbortSignal,
  task: Name,
  ...args: Parameters<Tasks[Name]>
): Promise<ReturnType<Tasks[Name]>> {
  signal.throwIfAborted();
  // An entry point of its own, which in the binary lies beside the program's.
  const worker = new Worker(
    Bun.isStandaloneExecutable
      ? "./workers/backup.ts"
      : new URL("../../workers/backup.ts", import.meta.url).href,
  );
  try {
    const answered = await new Promise<Answered>((resolve, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      worker.onmessage = ({ data }: MessageEvent<Answered>) => resolve(data);
      worker.onerror = (event) => {
        event.preventDefault();
        reject(new Error(event.message));
      };
      worker.postMessage({ task, args } satisfies Asked);
    });
    if ("result" in answered) return answered.result as ReturnType<Tasks[Name]>;
    const { code, message, fix } = answered;
    throw code === null ? new Error(message) : new StoreError(code, message, fix);
  } finally {
    worker.terminate();
  }
}

/** The worker's side. Never throws. */
export function answer({ task, args }: Asked): Answered {
  try {
    return { result: (TASKS[task] as (...args: readonly unknown[]) => unknown)(...args) };
  } catch (error) {
    if (error instanceof StoreError) return { code: error.code, message: error.message, fix: error.fix };
    return { code: null, message: messageOf(error), fix: "" };
  }
}
