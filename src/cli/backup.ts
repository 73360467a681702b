import { printBytes } from "../domain/bytes.ts";
import { escapeControls } from "../domain/plain-text.ts";
import { iso } from "../domain/time/clock.ts";
import { backUp, type OnStep } from "../store/backup/back-up.ts";
import { restore as putBack, type Restored } from "../store/backup/restore.ts";
import { type DatabaseReport, inWorker } from "../store/backup/worker.ts";
import { command, flag } from "./command.ts";
import { type CommandIo, Failure, listenToSignals, readConfig, warningsOn } from "./io.ts";
import { createProgress, type Progress, printJson } from "./terminal.ts";

const VERIFY = flag("only check the file and print its schema, rows, times and integrity");

export const backup = command({
  args: [["<file>", "file to write; it appears once it is complete and checked"]],
  options: {
    force: flag("overwrite an existing file"),
    verify: VERIFY,
    json: flag("print a summary of the backup as JSON on stdout"),
  },
  async run({ args: [file = ""], options: { force, verify, json }, config }, io) {
    if (verify) return verifyFile(file, json, io);
    const { directory } = (await readConfig(config, io)).config.storage;
    const began = io.now();
    const words = { copy: `Copying the database to ${file}`, check: "Checking the copy" };
    const report = await databaseWork(words, io, (onStep, signal) =>
      backUp({ directory, file, force, onStep, signal }),
    );
    const seconds = (io.now() - began) / 1000;
    const made = `${printBytes(report.bytes)}, ${report.rows} rows, checked, in ${seconds.toFixed(1)} s`;
    io.err(`${escapeControls(report.path)}: ${made}\n`);
    if (json) io.out(printSummary(report, { seconds }));
  },
});

const SOURCE = "a file written by `licmond backup`, a daily backup, or a copy of a licmond database";

export const restore = command({
  args: [["<file>", SOURCE]],
  options: { verify: VERIFY, json: flag("with --verify: as JSON") },
  async run({ args: [file = ""], options: { verify, json }, config }, io) {
    if (verify) return verifyFile(file, json, io);
    const { directory } = (await readConfig(config, io)).config.storage;
    const words = { copy: `Copying ${file}`, check: "Checking the copy" };
    const restored = await databaseWork(words, io, (onStep, signal) =>
      putBack({ directory, file, now: io.now(), log: warningsOn(io), onStep, signal }),
    );
    io.err(describe(restored, file));
  },
});

function describe({ report, aside, revoked, lost }: Restored, file: string): string {
  const { path, bytes, rows, newestAt } = report;
  const until = newestAt === null ? "" : `, data until ${iso(newestAt)}`;
  const lines = [`Restored ${path} from ${file}: ${printBytes(bytes)}, ${rows} rows${until}`];
  if (aside !== null) lines.push(`The previous database is now ${aside}`);
  if (revoked.length > 0) lines.push(`Keys revoked since the backup stay revoked: ${revoked.join(", ")}`);
  if (lost.length > 0) lines.push(`Lost keys, created since the backup: ${lost.join(", ")}`);
  return lines.map((line) => `${escapeControls(line)}\n`).join("");
}

/** Runs long work on a database with a progress bar. A signal aborts it cleanly. */
async function databaseWork<T>(
  words: Record<Parameters<OnStep>[0], string>,
  io: CommandIo,
  work: (onStep: OnStep, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const abort = new AbortController();
  const stop = () => abort.abort(new Failure("interrupted: nothing was changed"));
  const quit = listenToSignals({ stop, exitNow: () => process.exit(1), reload: stop });
  let bar = null as Progress | null;
  let shown = "";
  const onStep: OnStep = (step, done) => {
    if (shown !== step) {
      bar?.clear();
      // File names may contain control characters.
      bar = createProgress(escapeControls(words[step]), io);
      shown = step;
    }
    bar?.at(done);
  };
  try {
    return await work(onStep, abort.signal);
  } finally {
    bar?.clear();
    quit();
  }
}

/** `--verify`: prints a summary of a file. Fails with the reason if the file is unusable. */
async function verifyFile(file: string, json: boolean, io: CommandIo): Promise<void> {
  const words = { copy: "", check: `Checking ${file}` };
  const report = await databaseWork(words, io, (onStep, signal) => {
    onStep("check", null);
    return inWorker(signal, "examineDatabase", file);
  });
  io.out(json ? printSummary(report) : printReport(report));
}

function printReport({ schemaVersion, knownSchema, ...report }: DatabaseReport): string {
  const older =
    schemaVersion < knownSchema
      ? ` (this licmond uses ${knownSchema}; the daemon migrates the database when it starts)`
      : "";
  const time = (at: number | null) => (at === null ? "no data" : iso(at));
  return `file       ${escapeControls(report.path)}, ${printBytes(report.bytes)}
integrity  ok
schema     ${schemaVersion}${older}
rows       ${report.rows} in ${report.tables.length} tables
API keys   ${report.keys} not revoked
oldest     ${time(report.oldestAt)}
newest     ${time(report.newestAt)}
`;
}

/** Prints a summary as JSON with ISO 8601 times, followed by the fields of `more`. */
function printSummary(
  { isState: _, oldestAt, newestAt, ...rest }: DatabaseReport,
  more: object = {},
): string {
  const tables = Object.fromEntries(rest.tables.map(({ name, rows }) => [name, rows]));
  const [oldest, newest] = [oldestAt, newestAt].map((at) => (at === null ? null : iso(at)));
  return printJson({ ...rest, tables, integrity: "ok", oldest, newest, ...more });
}
