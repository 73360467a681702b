import { StoreError, type StoreErrorCode } from "../store-error.ts";
import { copyDatabase } from "./copy.ts";
import { type DatabaseReport, examineDatabase } from "./examine.ts";

/** What crosses between the main thread and the worker. */
export type Asked =
  | { readonly task: "copy"; readonly from: string; readonly to: string; readonly kind: "live" | "file" }
  | { readonly task: "examine"; readonly path: string };

export type Answered =
  | { readonly ok: true; readonly report: DatabaseReport | null }
  | {
      readonly ok: false;
      /** Null when it is no fault of the store but a bug. */
      readonly code: StoreErrorCode | null;
      readonly message: string;
      readonly fix: string;
    };

/** `copyDatabase` in a thread of its own, so that this one can show how far it is and be interrupted. */
export async function copyInWorker(from: string, to: string, kind: "live" | "file"): Promise<void> {
  await ask({ task: "copy", from, to, kind });
}

/** `examineDatabase` in a thread of its own; one in the background does not keep the process from ending. */
export async function examineInWorker(
  path: string,
  { background = false }: { readonly background?: boolean } = {},
): Promise<DatabaseReport> {
  const report = await ask({ task: "examine", path }, background);
  if (report === null) throw new Error("The worker answered another question");
  return report;
}

async function ask(asked: Asked, background = false): Promise<DatabaseReport | null> {
  // An entry point of its own, which in the binary lies beside the program's.
  const worker = new Worker(
    Bun.isStandaloneExecutable
      ? "./workers/backup.ts"
      : new URL("../../workers/backup.ts", import.meta.url).href,
  );
  if (background) worker.unref();
  try {
    const answered = await new Promise<Answered>((resolve, reject) => {
      worker.onmessage = ({ data }: MessageEvent<Answered>) => resolve(data);
      worker.onerror = (event) => {
        event.preventDefault();
        reject(new Error(event.message));
      };
      worker.postMessage(asked);
    });
    if (answered.ok) return answered.report;
    const { code, message, fix } = answered;
    throw code === null ? new Error(message) : new StoreError(code, message, fix);
  } finally {
    worker.terminate();
  }
}

/** The worker's side. Never throws. */
export function answer(asked: Asked): Answered {
  try {
    if (asked.task === "examine") return { ok: true, report: examineDatabase(asked.path) };
    copyDatabase(asked.from, asked.to, asked.kind);
    return { ok: true, report: null };
  } catch (error) {
    if (error instanceof StoreError)
      return { ok: false, code: error.code, message: error.message, fix: error.fix };
    const message = error instanceof Error ? error.message : String(error);
    return { ok: false, code: null, message, fix: "" };
  }
}
