import type { Config } from "../config/config.ts";
import { codeOf, messageOf } from "../domain/error-code.ts";
import type { MonitoredServer } from "../domain/server.ts";
import { DAY_MS, iso } from "../domain/time/clock.ts";
import { hostZone } from "../domain/time/zone.ts";
import { readLicet } from "../history/moving-in/licet.ts";
import { type OldMonitor, OldMonitorError } from "../history/moving-in/old-monitor.ts";
import { readPhpLicenseWatcher } from "../history/moving-in/phplicensewatcher.ts";
import type { DebugLog } from "../managers/debug-log/debug-log.ts";
import { managerOf } from "../managers/registry.ts";
import { StoreError } from "../store/database/store-error.ts";
import { openStore, type Store } from "../store/open/open.ts";
import { command, option, texts, ZONE } from "./command.ts";
import { importCounts, matchServers, printCounts } from "./import-counts.ts";
import { type ImportReport, importLogs } from "./import-log.ts";
import {
  type DatedLog,
  dated,
  fileSource,
  keepStdin,
  LogReadError,
  type LogSource,
} from "./import-sources.ts";
import { type CommandIo, Failure, fail, readConfig, UsageError, warningsOn } from "./io.ts";
import { createProgress } from "./terminal.ts";

const MONITORS = ["phplicensewatcher", "licet"] as const;

/**
 * `licmond import`: sessions and denials of years, out of the debug logs that vendor daemons wrote; or the counts that
 * another monitor stored.
 */
export const importFiles = command({
  args: [["[files...]", "debug logs, in any order, also packed by gzip; default, or -: stdin"]],
  options: {
    server: texts("<id>", "the configured server that wrote them; with --from FROM=ID, may be repeated"),
    timezone: option("<zone>", "zone of the times (default: the server's; with --from this host's)", ZONE),
    from: option("<monitor>", "the files are another monitor's data", MONITORS),
  },
  async run({ args: files, options: { from, server: ids = [], timezone }, config: named }, io) {
    if (from !== undefined) {
      const { config } = await readConfig(named, io);
      return moveIn(config, from, files, ids, timezone ?? hostZone(), io);
    }
    const [id, more] = ids;
    if (id === undefined) throw new UsageError("required option '--server <id>' not specified");
    if (more !== undefined) throw new UsageError("--server is given twice: debug logs are of one server");
    const options = { server: id, timezone };
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
    const logs: DatedLog[] = [];
    // Every log is looked at before the first is stored.
    let isBad = false;
    for (const file of files.length === 0 ? ["-"] : files) {
      try {
        const source = file === "-" ? await keptStdin(config, io, closing) : fileSource(file);
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
  const { store, isBeside } = openForImport(storage, io);
  // Elsewhere the report at the end is all that is printed.
  const progress = io.terminal.err ? createProgress("Importing", io) : null;
  const now = io.now();
  const keptFrom = now - retention.sessionsMs;
  try {
    const onProgress = (done: number, of: number) => progress?.at(of === 0 ? 1 : done / of);
    const target = { store, isBeside, now, keptFrom, onProgress };
    const report = await importLogs(target, server, debugLog, logs);
    progress?.end(`Imported in ${((io.now() - now) / 1000).toFixed(1)} s`);
    io.out(printReport(report, server.id));
    if (report.sessions.old + report.denials.old > 0) io.err(tooOld(report, keptFrom));
    for (const { line, text } of report.counts.samples) io.err(`line ${line}: ${JSON.stringify(text)}\n`);
  } finally {
    store.close();
  }
}

/** To itself where no daemon runs. */
function openForImport(
  { directory, backupBeforeUpgrade: backUpBeforeUpgrade }: Config["storage"],
  io: CommandIo,
) {
  const opening = { directory, log: warningsOn(io), backUpBeforeUpgrade };
  const alone = ifNotHeld(() => openStore({ ...opening, lockWaitMs: 0 }));
  return { store: alone ?? openStore({ ...opening, mode: "cli" }), isBeside: alone === null };
}

/** Takes in the counts of another monitor. All of its data are looked through before the first count is stored. */
async function moveIn(
  config: Config,
  from: (typeof MONITORS)[number],
  files: readonly string[],
  said: readonly string[],
  zone: string,
  io: CommandIo,
): Promise<void> {
  const [file = "-", more] = files;
  if (more !== undefined || (from === "licet" && file === "-"))
    throw new UsageError(
      `--from ${from} takes one file${from === "licet" ? ", licet's SQLite database" : ""}`,
    );
  using closing = new DisposableStack();
  const progress = createProgress("Importing", io);
  try {
    const now = io.now();
    let total = 1;
    let monitor: OldMonitor;
    if (from === "licet") {
      const licet = closing.use(readLicet(file));
      total = licet.rows;
      monitor = licet;
    } else {
      const dump = file === "-" ? await keptStdin(config, io, closing) : fileSource(file);
      total = dump.size * 2;
      let read = 0;
      monitor = await readPhpLicenseWatcher(dump, (bytes) => {
        read += bytes;
        progress.at(read / total);
      });
    }
    const servers = matchServers(config, monitor, said);
    const { store, isBeside } = openForImport(config.storage, io);
    closing.defer(() => store.close());
    const keptFrom = Math.floor((now - config.retention.samplesMs) / DAY_MS) * DAY_MS;
    const before = from === "licet" ? 0 : total / 2;
    const onProgress = (done: number, of: number) => progress.at((before + done) / of);
    const target = { store, isBeside, now, keptFrom, onProgress };
    const reports = await importCounts(target, monitor, servers, zone, total);
    progress.end(`Imported in ${((io.now() - now) / 1000).toFixed(1)} s`);
    io.out(printCounts(reports, monitor, zone));
    const old = reports.reduce((sum, report) => sum + report.old, 0);
    if (old > 0) io.err(tooOldCounts(old, keptFrom));
    if (reports.every(({ features }) => features === 0)) throw new Failure("no feature was taken in");
  } catch (error) {
    progress.clear();
    if (error instanceof UsageError || error instanceof Failure) throw error;
    if (error instanceof StoreError) throw error;
    if (error instanceof OldMonitorError || error instanceof LogReadError) throw new Failure(error.message);
    if (codeOf(error) !== "unknown") throw new Failure(`${file} cannot be read: ${messageOf(error)}`);
    throw error;
  }
}

async function keptStdin({ storage }: Config, io: CommandIo, closing: DisposableStack): Promise<LogSource> {
  const tell = (message: string) => io.err(`licmond: ${message}\n`);
  const kept = await keepStdin(io.stdin(), storage.directory, io.now(), tell);
  closing.defer(kept.close);
  return kept.source;
}

function tooOldCounts(count: number, keptFrom: number): string {
  const [day] = iso(keptFrom).split("T");
  const why = `${count} counts are from before ${day} and were left out: retention.samples deletes what is older`;
  return `licmond: ${why}. To keep them raise it, reload the daemon, and import again.\n`;
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
