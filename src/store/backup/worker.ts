import { StoreError, type StoreErrorCode } from "../store-error.ts";
import { TASKS, type TaskName, type Tasks } from "./tasks.ts";

/** What crosses between the main thread and the worker. */
export interface Asked {
  readonly name: TaskName;
  readonly input: unknown;
}

export type Answered =
  | { readonly ok: true; readonly value: unknown }
  | {
      readonly ok: false;
      readonly code: StoreErrorCode | null;
      readonly message: string;
      readonly fix: string;
    };

/** Runs one task in a thread of its own, so that this one can show how far it is and be interrupted. Rejects as the task throws. */
export async function inWorker<Name extends TaskName>(
  name: Name,
  input: Parameters<Tasks[Name]>[0],
): Promise<ReturnType<Tasks[Name]>> {
  // An entry point of its own, which in the binary lies beside the program's.
  const worker = new Worker(
    Bun.isStandaloneExecutable
      ? "./workers/backup.ts"
      : new URL("../../workers/backup.ts", import.meta.url).href,
  );
  try {
    const answer = await new Promise<Answered>((resolve, reject) => {
      worker.onmessage = ({ data }: MessageEvent<Answered>) => resolve(data);
      worker.onerror = (event) => {
        event.preventDefault();
        reject(new Error(event.message));
      };
      worker.postMessage({ name, input } satisfies Asked);
    });
    // The name decides on the type of the answer.
    if (answer.ok) return answer.value as ReturnType<Tasks[Name]>;
    throw answer.code === null
      ? new Error(answer.message)
      : new StoreError(answer.code, answer.message, answer.fix);
  } finally {
    worker.terminate();
  }
}

/** The worker's side. Never throws. */
export function answer({ name, input }: Asked): Answered {
  try {
    const task: (input: never) => unknown = TASKS[name];
    return { ok: true, value: task(input as never) };
  } catch (error) {
    if (error instanceof StoreError)
      return { ok: false, code: error.code, message: error.message, fix: error.fix };
    return {
      ok: false,
      code: null,
      message: error instanceof Error ? error.message : String(error),
      fix: "",
    };
  }
}
