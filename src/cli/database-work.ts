import { escapeControls } from "../domain/plain-text.ts";
import type { OnStep } from "../store/backup/back-up.ts";
import type { DatabaseReport } from "../store/backup/examine.ts";
import { printReport, reportAsJson } from "./database-report.ts";
import { type CommandIo, fail } from "./io.ts";
import { createProgress } from "./progress.ts";

/** Ctrl-C. */
class Interrupted extends Error {}

/**
 * Runs long work on a database: shows how far it is, ends it in order on a signal, and prints what went wrong.
 * Null when it did not come to its end.
 */
export async function databaseWork<T>(
  io: CommandIo,
  words: { readonly copy: string; readonly check: string },
  work: (onStep: OnStep, signal: AbortSignal) => Promise<T>,
): Promise<T | null> {
  const { StoreError } = await import("../store/store-error.ts");
  const { listenToSignals } = await import("../system/signals.ts");
  const abort = new AbortController();
  const stop = () => abort.abort(new Interrupted("interrupted: nothing was changed"));
  const quit = listenToSignals({ stop, exitNow: () => process.exit(1), reload: stop });
  let shown: { readonly step: "copy" | "check"; readonly bar: ReturnType<typeof createProgress> } | null =
    null;
  const clear = () => {
    // EL, "erase in line" (ECMA-48 8.3.41).
    if (shown !== null && io.terminal.err) io.err("\r\u001b[K");
    shown = null;
  };
  const onStep: OnStep = (step, done) => {
    if (shown?.step !== step) {
      clear();
      // They name files, whose names may hold anything.
      const what = escapeControls(words[step]);
      shown = { step, bar: createProgress(what, io) };
      if (done === null && io.terminal.err) io.err(`${what} …`);
    }
    if (done !== null) shown.bar.at(done);
  };
  try {
    const result = await work(onStep, abort.signal);
    clear();
    return result;
  } catch (error) {
    clear();
    if (error instanceof StoreError) fail(io, `${error.message}. ${error.fix}`);
    else if (error instanceof Interrupted) fail(io, error.message);
    else throw error;
    return null;
  } finally {
    quit();
  }
}

/** `--verify`: reads a file and tells what is in it; a file that is no good is a failure with the reason. */
export async function verify(io: CommandIo, file: string, json: boolean): Promise<void> {
  const { unlessAborted } = await import("../store/backup/unless-aborted.ts");
  const { examineInWorker } = await import("../store/backup/worker.ts");
  const report = await databaseWork<DatabaseReport>(
    io,
    { copy: "", check: `Checking ${file}` },
    (onStep, signal) => {
      onStep("check", null);
      return unlessAborted(signal, examineInWorker(file));
    },
  );
  if (report === null) return;
  io.out(json ? `${JSON.stringify(reportAsJson(report), null, 2)}\n` : printReport(report));
}
