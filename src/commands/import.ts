import { type Command, InvalidArgumentError } from "commander";
import type { Config } from "../config/config.ts";
import { isZone } from "../domain/zone.ts";
import type { DebugLog } from "../managers/debug-log/debug-log.ts";
import { managerOf } from "../managers/registry.ts";
import type { Store } from "../store/open.ts";
import { readConfig, withConfigOption } from "./config-option.ts";
import type { ImportReport } from "./import-log.ts";
import type { LogSource } from "./import-sources.ts";
import { type CommandIo, EXIT_FAILURE, EXIT_USAGE, fail } from "./io.ts";

interface ImportOptions {
  readonly server: string;
  readonly timezone?: string;
}

/** `licmond import`: sessions and denials of years, out of the debug logs that vendor daemons wrote. */
export function registerImport(program: Command, io: CommandIo): void {
  withConfigOption(program.command("import"))
    .description("Reads FlexNet debug logs into history: who had what, when, and who was denied.")
    .argument("[files...]", "debug logs, in any order, also packed by gzip; default, or -: stdin")
    .requiredOption("--server <id>", "the configured server that wrote them")
    .option("--timezone <zone>", "zone of the times in the logs (default: the server's)", zone)
    .addHelpText(
      "after",
      `
Nothing is stored twice: a log may be imported again, also while the daemon runs. Of the time in which the daemon
watched the server itself, its own sessions stand and those of the log are left out. What is older than
retention.sessions keeps (400d by default) is left out, too, and counted: raise it first for logs of years.
Logs are read where they lie; what comes by stdin is kept in the storage directory until it is imported.

Examples:
  licmond import --server eda /var/log/flexnet/snps.log*
  xzcat snps.log.*.xz | licmond import --server eda`,
    )
    .action(async (files: string[], options: ImportOptions, command: Command) => {
      const found = await readConfig(command, io);
      if (found === null) return;
      const usage = (message: string) => command.error(`error: ${message}`, { exitCode: EXIT_USAGE });
      const server = found.config.servers.find(({ id }) => id === options.server);
      if (server === undefined) {
        const ids = found.config.servers.map(({ id }) => id).join(", ");
        return usage(
          `no server "${options.server}" in the config (${ids === "" ? "it has none" : `there are ${ids}`})`,
        );
      }
      const { title, debugLog } = managerOf(server.manager);
      if (debugLog === null)
        return usage(`"${server.id}" is a server of ${title}, which has no debug log that licmond can read`);
      const logZone = options.timezone ?? server.timezone;
      const opened = await openSources(files, debugLog, found.config.storage.directory, io);
      if (opened === null) return;
      const { sources } = opened;

      const { importLogs } = await import("./import-log.ts");
      const { LogReadError } = await import("./import-sources.ts");
      const { StoreError } = await import("../store/store-error.ts");
      const progress = createProgress(io);
      try {
        const { store, beside } = await openBeside(found.config.storage, io);
        try {
          const now = io.now();
          const keptFrom = now - found.config.retention.sessionsMs;
          const report = await importLogs({
            ...{ store, server, debugLog, zone: logZone, sources, now, keptFrom, beside },
            onProgress: progress.show,
          });
          progress.end();
          io.out(printReport(report, server.id));
          if (report.sessions.old + report.denials.old > 0) io.err(tooOld(report, keptFrom));
          for (const { line, text } of report.counts.samples)
            io.err(`line ${line}: ${JSON.stringify(text)}\n`);
        } finally {
          store.close();
        }
      } catch (error) {
        progress.end();
        const afterwards = "What was read so far is stored; import the logs again afterwards.";
        if (error instanceof StoreError) fail(io, `${error.message}. ${error.fix} ${afterwards}`);
        else if (error instanceof LogReadError) fail(io, `${error.message}. ${afterwards}`);
        else throw error;
      } finally {
        opened.close();
      }
    });
}

/** Every log, checked before the first is stored; null when one cannot be read. */
async function openSources(
  files: readonly string[],
  debugLog: DebugLog,
  storage: string,
  io: CommandIo,
): Promise<{ readonly sources: readonly LogSource[]; close(): void } | null> {
  const { fileSource, problemOf } = await import("./import-sources.ts");
  const { keepStdin } = await import("./import-stdin.ts");
  const sources: LogSource[] = [];
  const closes: (() => void)[] = [];
  const close = () => {
    for (const one of closes) one();
  };
  const ofStdin = async () => {
    const tell = (message: string) => io.err(`licmond: ${message}\n`);
    const kept = await keepStdin(io.stdinPieces(), storage, io.now(), tell);
    closes.push(kept.close);
    return kept.source;
  };
  let bad = false;
  for (const file of files.length === 0 ? ["-"] : files) {
    try {
      const source = file === "-" ? await ofStdin() : fileSource(file);
      const problem = await problemOf(source, debugLog);
      if (problem === null) sources.push(source);
      else {
        bad = true;
        fail(io, problem);
      }
    } catch (error) {
      bad = true;
      fail(io, problemToRead(file, error));
    }
  }
  if (!bad) return { sources, close };
  close();
  io.exitCode(EXIT_FAILURE);
  return null;
}

function problemToRead(file: string, error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof Error && error.name === "LogReadError") return message;
  return `${file === "-" ? "stdin" : file} cannot be read: ${message}`;
}

/** The store, to itself where no daemon runs. */
async function openBeside(
  { directory, backupBeforeUpgrade }: Config["storage"],
  io: CommandIo,
): Promise<{ store: Store; beside: boolean }> {
  const { openStore } = await import("../store/open.ts");
  const { StoreError } = await import("../store/store-error.ts");
  const tell = (message: string) => io.err(`licmond: ${message}\n`);
  const log = { debug() {}, info() {}, warn: tell, error: tell };
  const of = { directory, log, backUpBeforeUpgrade: backupBeforeUpgrade };
  try {
    return { store: openStore({ ...of, lockWaitMs: 0 }), beside: false };
  } catch (error) {
    if (!(error instanceof StoreError) || error.code !== "HELD") throw error;
    return { store: openStore({ ...of, mode: "cli" }), beside: true };
  }
}

/** A line that counts up on a terminal; elsewhere a line for every tenth. */
function createProgress(io: CommandIo) {
  const startedAt = io.now();
  let shownAt = 0;
  let tenth = 0;
  let open = false;
  return {
    show(done: number, of: number): void {
      const now = io.now();
      const percent = of === 0 ? 100 : Math.floor((100 * done) / of);
      const rate = (done / 1e6 / Math.max(0.001, (now - startedAt) / 1000)).toFixed(0);
      const line = `${percent} %, ${(done / 1e6).toFixed(0)} of ${(of / 1e6).toFixed(0)} MB, ${rate} MB/s`;
      if (io.terminal.err) {
        if (now - shownAt < 100 && done < of) return;
        io.err(`\r${line.padEnd(50)}`);
        open = true;
        shownAt = now;
      } else if (Math.floor(percent / 10) > tenth) {
        tenth = Math.floor(percent / 10);
        if (of > 20e6) io.err(`${line}\n`);
      }
    },
    end(): void {
      if (open) io.err("\n");
      open = false;
    },
  };
}

function printReport({ counts, pairing, sessions, denials, from, to }: ImportReport, server: string): string {
  const { events } = counts;
  const day = (at: number | null) => (at === null ? "?" : new Date(at).toISOString());
  const rows: readonly (readonly [string, string])[] = [
    [
      "time",
      `${day(from)} to ${day(to)}${counts.inferredDates > 0 ? ", partly dated by the time of the file" : ""}`,
    ],
    [
      "lines",
      `${counts.lines}: ${events.OUT} OUT, ${events.IN} IN, ${events.DENIED} DENIED, ${events.QUEUED} QUEUED, ${events.UNSUPPORTED} UNSUPPORTED (not counted as denied)`,
    ],
    [
      "sessions",
      `${sessions.added} added, ${sessions.known} known before, ${sessions.observed} left out: the daemon watched then`,
    ],
    ["denials", `${denials.added} added, ${denials.widened} widened, ${denials.known} known before`],
    [
      "pairing",
      `${pairing.orphanIns} IN without OUT, ${pairing.openOuts} OUT without IN, ${pairing.ambiguous} ambiguous`,
    ],
    [
      "not understood",
      `${counts.malformed} events, ${counts.withoutHead} lines without a time, ${counts.brokenTimes} broken times`,
    ],
    [
      "dates",
      `${counts.timestamps} printed, ${counts.dateJumps} jumps, ${counts.redated} events moved by a day`,
    ],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  return `${server}\n${rows.map(([name, text]) => `  ${name.padEnd(width)}  ${text}\n`).join("")}`;
}

/** Said apart from the figures: whoever imports years wants to keep them. */
function tooOld({ sessions, denials }: ImportReport, keptFrom: number): string {
  const [day] = new Date(keptFrom).toISOString().split("T");
  return (
    `licmond: ${sessions.old} sessions and ${denials.old} denials are from before ${day} and were left out: ` +
    "retention.sessions deletes what is older. To keep them raise it, reload the daemon, and import again.\n"
  );
}

function zone(text: string): string {
  if (isZone(text)) return text;
  throw new InvalidArgumentError('It takes an IANA time zone, e.g. "Europe/Berlin".');
}
