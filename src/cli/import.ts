import type { Config } from "../config/config.ts";
import { messageOf } from "../domain/error-code.ts";
import type { MonitoredServer } from "../domain/server.ts";
import { iso } from "../domain/time/clock.ts";
import type { DebugLog } from "../managers/debug-log/debug-log.ts";
import { managerOf } from "../managers/registry.ts";
import { StoreError } from "../store/database/store-error.ts";
import { openStore, type Store } from "../store/open/open.ts";
import { command, option, required, ZONE } from "./command.ts";
import { type ImportReport, importLogs } from "./import-log.ts";
import { type DatedLog, dated, fileSource, keepStdin, LogReadError } from "./import-sources.ts";
import { type CommandIo, Failure, fail, readConfig, UsageError, warningsOn } from "./io.ts";
import { createProgress } from "./terminal.ts";

/** `licmond import`: sessions and denials of years, out of the debug logs that vendor daemons wrote. */
export const importFiles = command({
  args: [["[files...]", "debug logs, in any order, also packed by gzip; default, or -: stdin"]],
  options: {
    server: required("<id>", "the configured server that wrote them", String),
    timezone: option("<zone>", "zone of the times in the logs (default: the server's)", ZONE),
  },
  async run({ args: files, options, config: named }, io) {
    const { config } = await readConfig(named, io);
    const found = config.servers.find(({ id }) => id === options.server);
    if (found === undefined) {
      const ids = config.servers.map(({ id }) => id).join(", ");
      const known = ids === "" ? "it has none" : `there are ${ids}`;
      throw new UsageError(`no server "${options.server}" in the config (${known})`);
    }
    const server = { ...found, timezone: options.timezone ?? found.timezone };
    const { title, debugLog } = managerOf(server.manager);
    const unreadable = `"${server.id}" is a server of ${title}, which has no debug log that licmond can read`;
    if (debugLog === null) throw new UsageError(unreadable);
    using closing = new DisposableStack();
    const keep = async () => {
      const tell = (message: string) => io.err(`licmond: ${message}\n`);
      const kept = await keepStdin(io.stdin(), config.storage.directory, io.now(), tell);
      closing.defer(kept.close);
      return kept.source;
    };
    const logs: DatedLog[] = [];
    // Every log is looked at before the first is stored.
    let isBad = false;
    for (const file of files.length === 0 ? ["-"] : files) {
      try {
        const source = file === "-" ? await keep() : fileSource(file);
        logs.push(await dated(source, server.timezone, debugLog));
      } catch (error) {
        const why = `${file === "-" ? "stdin" : file} cannot be read: ${messageOf(error)}`;
        fail(io, error instanceof LogReadError ? error.message : why);
        isBad = true;
      }
    }
    if (isBad) return;
    try {
      await importInto(config, server, debugLog, logs, io);
    } catch (error) {
      const afterwards = "What was read so far is stored; import the logs again afterwards.";
      if (error instanceof StoreError) throw new Failure(`${error.message}. ${error.fix} ${afterwards}`);
      if (error instanceof LogReadError) throw new Failure(`${error.message}. ${afterwards}`);
      throw error;
    }
  },
});

async function importInto(
  { storage, retention }: Config,
  server: MonitoredServer,
  debugLog: DebugLog,
  logs: readonly DatedLog[],
  io: CommandIo,
): Promise<void> {
  const { directory, backupBeforeUpgrade: backUpBeforeUpgrade } = storage;
  const opening = { directory, log: warningsOn(io), backUpBeforeUpgrade };
  // To itself where no daemon runs.
  const alone = ifNotHeld(() => openStore({ ...opening, lockWaitMs: 0 }));
  const store = alone ?? openStore({ ...opening, mode: "cli" });
  // Elsewhere the report at the end is all that is printed.
  const progress = io.terminal.err ? createProgress("Importing", io) : null;
  const now = io.now();
  const keptFrom = now - retention.sessionsMs;
  try {
    const onProgress = (done: number, of: number) => progress?.at(of === 0 ? 1 : done / of);
    const target = { store, isBeside: alone === null, now, keptFrom, onProgress };
    const report = await importLogs(target, server, debugLog, logs);
    progress?.end(`Imported in ${((io.now() - now) / 1000).toFixed(1)} s`);
    io.out(printReport(report, server.id));
    if (report.sessions.old + report.denials.old > 0) io.err(tooOld(report, keptFrom));
    for (const { line, text } of report.counts.samples) io.err(`line ${line}: ${JSON.stringify(text)}\n`);
  } finally {
    store.close();
  }
}

/** Null where a daemon holds the store. */
function ifNotHeld(open: () => Store): Store | null {
  try {
    return open();
  } catch (error) {
    if (error instanceof StoreError && error.code === "HELD") return null;
    throw error;
  }
}

function printReport({ counts, pairing, sessions, denials, from, to }: ImportReport, server: string): string {
  const { OUT, IN, DENIED, QUEUED, UNSUPPORTED } = counts.events;
  const time = (at: number | null) => (at === null ? "?" : iso(at));
  const inferred = counts.inferredDates > 0 ? ", partly dated by the time of the file" : "";
  const unsupported = `${UNSUPPORTED} UNSUPPORTED (not counted as denied)`;
  return `${server}
  time            ${time(from)} to ${time(to)}${inferred}
  lines           ${counts.lines}: ${OUT} OUT, ${IN} IN, ${DENIED} DENIED, ${QUEUED} QUEUED, ${unsupported}
  sessions        ${sessions.added} added, ${sessions.known} known before, ${sessions.observed} left out: the daemon watched then
  denials         ${denials.added} added, ${denials.widened} widened, ${denials.known} known before
  pairing         ${pairing.orphanIns} IN without OUT, ${pairing.openOuts} OUT without IN, ${pairing.ambiguous} ambiguous
  not understood  ${counts.malformed} events, ${counts.withoutHead} lines without a time, ${counts.brokenTimes} broken times
  dates           ${counts.timestamps} printed, ${counts.dateJumps} jumps, ${counts.redated} events moved by a day
`;
}

/** On stderr, apart from the figures: a user who imports years wants to keep them. */
function tooOld({ sessions, denials }: ImportReport, keptFrom: number): string {
  const [day] = iso(keptFrom).split("T");
  return (
    `licmond: ${sessions.old} sessions and ${denials.old} denials are from before ${day} and were left out: ` +
    "retention.sessions deletes what is older. To keep them raise it, reload the daemon, and import again.\n"
  );
}
