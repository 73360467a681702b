import { printBytes } from "../domain/bytes.ts";
import { escapeControls } from "../domain/plain-text.ts";
import { iso } from "../domain/time/clock.ts";
import type { OnStep } from "../store/backup/back-up.ts";
import type { DatabaseReport } from "../store/backup/examine.ts";
import { inWorker } from "../store/backup/worker.ts";
import { listenToSignals } from "../system/signals.ts";
import { type CommandIo, Failure } from "./io.ts";
import { createProgress } from "./terminal.ts";

/** Runs long work on a database: shows how far it is, and ends it in order on a signal. */
export async function databaseWork<T>(
  io: CommandIo,
  words: { readonly copy: string; readonly check: string },
  work: (onStep: OnStep, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const abort = new AbortController();
  const stop = () => abort.abort(new Failure("interrupted: nothing was changed"));
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
    return await work(onStep, abort.signal);
  } finally {
    clear();
    quit();
  }
}

/** `--verify`: reads a file and tells what is in it; a file that is no good is a failure with the reason. */
export async function verifyFile(io: CommandIo, file: string, json: boolean): Promise<void> {
  const report = await databaseWork(io, { copy: "", check: `Checking ${file}` }, (onStep, signal) => {
    onStep("check", null);
    return inWorker(signal, "examineDatabase", file);
  });
  io.out(json ? printJson(report) : printReport(report));
}

/** What `--verify` tells of a file, a line each. */
function printReport(report: DatabaseReport): string {
  const { path, bytes, schemaVersion, knownSchema, rows, keys, oldestAt, newestAt } = report;
  const older =
    schemaVersion < knownSchema ? ` (this licmond has ${knownSchema}: upgraded when the daemon starts)` : "";
  const lines = [
    ["file", `${escapeControls(path)}, ${printBytes(bytes)}`],
    ["integrity", "ok"],
    ["schema", `${schemaVersion}${older}`],
    ["rows", `${rows} in ${report.tables.length} tables`],
    ["API keys", `${keys} not revoked`],
    ["oldest", oldestAt === null ? "no data" : iso(oldestAt)],
    ["newest", newestAt === null ? "no data" : iso(newestAt)],
  ];
  return lines.map(([name = "", value]) => `${name.padEnd(10)} ${value}\n`).join("");
}

/** The same as JSON, times as ISO 8601; `more` stands behind it. */
export function printJson(report: DatabaseReport, more: object = {}): string {
  const { tables, oldestAt, newestAt, isState: _, ...rest } = report;
  const shown = {
    ...rest,
    tables: Object.fromEntries(tables.map(({ name, rows }) => [name, rows])),
    integrity: "ok",
    oldest: oldestAt === null ? null : iso(oldestAt),
    newest: newestAt === null ? null : iso(newestAt),
    ...more,
  };
  return `${JSON.stringify(shown, null, 2)}\n`;
}
