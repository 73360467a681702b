import type { Config } from "../../config/config.ts";
import { codeOf, messageOf } from "../../domain/error-code.ts";
import type { MonitoredServer } from "../../domain/server.ts";
import { DAY_MS, iso } from "../../domain/time/clock.ts";
import { hostZone } from "../../domain/time/zone.ts";
import { recordFacts } from "../../fleet/recording.ts";
import { CountsError, readCountsCsv } from "../../history/moving-in/counts-csv.ts";
import type { DebugLog } from "../../managers/debug-log/debug-log.ts";
import { managerOf } from "../../managers/registry.ts";
import { StoreError } from "../../store/database/store-error.ts";
import { openStore, type Store } from "../../store/open/open.ts";
import { command, option, text, texts, ZONE } from "../command.ts";
import { type CommandIo, Failure, fail, readConfig, serverNamed, UsageError, warningsOn } from "../io.ts";
import { createProgress } from "../terminal.ts";
import { importCounts, matchServers, printCounts } from "./import-counts.ts";
import { type ImportReport, importLogs } from "./import-log.ts";
import { type DatedLog, dated, fileSource, keepStdin, LogReadError } from "./import-sources.ts";

export const importFiles = command({
  args: [["[files...]", "debug logs, in any order, also compressed by gzip; default or -: stdin"]],
  options: {
    server: texts("<id>", "server that wrote the logs; with --counts: FROM=ID, repeatable"),
    timezone: option("<zone>", "time zone (default: the server's; with --counts: this host's)", ZONE),
    counts: text("<file>", "CSV file with counts, - for stdin"),
  },
  async run({ args: files, options: { counts, server: ids = [], timezone }, config: named }, io) {
    if (counts !== undefined) {
      if (files.length > 0) throw new UsageError("--counts cannot be used with debug logs");
      const { config } = await readConfig(named, io);
      return importCsv(config, counts, ids, timezone ?? hostZone(), io);
    }
    const [id, more] = ids;
    if (id === undefined) throw new UsageError("required option '--server <id>' not specified");
    if (more !== undefined)
      throw new UsageError("--server can be used only once: debug logs belong to one server");
    const { config } = await readConfig(named, io);
    const found = serverNamed(config, id);
    const server = { ...found, timezone: timezone ?? found.timezone };
    const { title, debugLog } = managerOf(server.manager, config.managers);
    const unreadable = `"${server.id}" is a server of ${title}, whose debug logs licmond cannot read`;
    if (debugLog === null) throw new UsageError(unreadable);
    using closing = new DisposableStack();
    const logs: DatedLog[] = [];
    // Check all logs before storing the first one.
    let isBad = false;
    for (const file of files.length === 0 ? ["-"] : files) {
      try {
        const source = file === "-" ? await keptStdin(config, io, closing) : fileSource(file);
        logs.push(await dated(source, server.timezone, debugLog));
      } catch (error) {
        const why = `cannot read ${file === "-" ? "stdin" : file}: ${messageOf(error)}`;
        fail(io, error instanceof LogReadError ? error.message : why);
        isBad = true;
      }
    }
    if (isBad) return;
    try {
      await importInto(config, server, debugLog, logs, io);
    } catch (error) {
      const afterwards = "Rows read so far are stored; import the logs again afterwards.";
      if (error instanceof StoreError) throw new Failure(`${error.message}. ${error.fix} ${afterwards}`);
      if (error instanceof LogReadError) throw new Failure(`${error.message}. ${afterwards}`);
      throw error;
    }
  },
});

async function importInto(
  config: Config,
  server: MonitoredServer,
  debugLog: DebugLog,
  logs: readonly DatedLog[],
  io: CommandIo,
): Promise<void> {
  const { store, isBeside } = openForImport(config, io);
  // Without a terminal print only the report at the end.
  const progress = io.terminal.err ? createProgress("Importing", io) : null;
  const now = io.now();
  const keptFrom = now - config.retention.sessionsMs;
  try {
    const onProgress = (done: number, of: number) => progress?.at(of === 0 ? 1 : done / of);
    const target = { store, isBeside, now, keptFrom, onProgress };
    const report = await importLogs(target, server, debugLog, logs);
    progress?.end(`Imported in ${((io.now() - now) / 1000).toFixed(1)} s`);
    io.out(printReport(report, server.id));
    const { sessions, denials } = report;
    if (sessions.old + denials.old > 0)
      io.err(tooOld(`${sessions.old} sessions and ${denials.old} denials`, "sessions", keptFrom));
    for (const { line, text } of report.counts.samples) io.err(`line ${line}: ${JSON.stringify(text)}\n`);
  } finally {
    store.close();
  }
}

/** Opens the store, exclusively if no daemon is running. */
function openForImport({ storage, fleet }: Config, io: CommandIo) {
  const { directory, backupBeforeUpgrade: backUpBeforeUpgrade } = storage;
  const opening = { directory, log: warningsOn(io), backUpBeforeUpgrade };
  let [store, isBeside] = [null as Store | null, false];
  try {
    store = openStore({ ...opening, lockWaitMs: 0 });
  } catch (error) {
    if (!(error instanceof StoreError) || error.code !== "HELD") throw error;
    isBeside = true;
  }
  store ??= openStore({ ...opening, mode: "cli" });
  if (fleet !== null) recordFacts(store, fleet.logs);
  return { store, isBeside };
}

async function importCsv(
  config: Config,
  file: string,
  mapping: readonly string[],
  zone: string,
  io: CommandIo,
): Promise<void> {
  using closing = new DisposableStack();
  const progress = io.terminal.err ? createProgress("Importing", io) : null;
  const now = io.now();
  try {
    const { name, size, pieces } = file === "-" ? await keptStdin(config, io, closing) : fileSource(file);
    let read = 0;
    const onRead = (bytes: number) => {
      read += bytes;
      progress?.at(read / size / 2);
    };
    const counts = closing.use(await readCountsCsv(pieces(onRead), name));
    const servers = matchServers(config, counts, mapping);
    const { store, isBeside } = openForImport(config, io);
    closing.defer(() => store.close());
    const keptFrom = Math.floor((now - config.retention.samplesMs) / DAY_MS) * DAY_MS;
    const onProgress = (done: number, of: number) => progress?.at(0.5 + done / of / 2);
    const target = { store, isBeside, now, keptFrom, onProgress };
    const reports = await importCounts(target, counts, servers, zone);
    progress?.end(`Imported in ${((io.now() - now) / 1000).toFixed(1)} s`);
    io.out(printCounts(reports, zone));
    const old = [...reports.values()].reduce((sum, report) => sum + (report?.counts.old ?? 0), 0);
    if (old > 0) io.err(tooOld(`${old} counts`, "samples", keptFrom));
    if (![...reports.values()].some((report) => report !== null && report.features > 0))
      throw new Failure("no features imported");
  } catch (error) {
    if (error instanceof CountsError || error instanceof LogReadError) throw new Failure(error.message);
    if (codeOf(error) === "ENOENT" || codeOf(error) === "EACCES")
      throw new Failure(`cannot read ${file}: ${messageOf(error)}`);
    throw error;
  }
}

async function keptStdin({ storage }: Config, io: CommandIo, closing: DisposableStack) {
  const tell = (message: string) => io.err(`licmond: ${message}\n`);
  const kept = await keepStdin(io.stdin(), storage.directory, io.now(), tell);
  closing.defer(kept.close);
  return kept.source;
}

function printReport({ counts, pairing, sessions, denials, from, to }: ImportReport, server: string): string {
  const { OUT, IN, DENIED, QUEUED, UNSUPPORTED } = counts.events;
  const time = (at: number | null) => (at === null ? "?" : iso(at));
  const inferred = counts.inferredDates > 0 ? ", partly dated by the time of the file" : "";
  const unsupported = `${UNSUPPORTED} UNSUPPORTED (not counted as denied)`;
  return `${server}
  time            ${time(from)} to ${time(to)}${inferred}
  lines           ${counts.lines}: ${OUT} OUT, ${IN} IN, ${DENIED} DENIED, ${QUEUED} QUEUED, ${unsupported}
  sessions        ${sessions.added} added, ${sessions.known} known before, ${sessions.observed} left out: the daemon was monitoring then
  denials         ${denials.added} added, ${denials.widened} widened, ${denials.known} known before
  pairing         ${pairing.orphanIns} IN without OUT, ${pairing.openOuts} OUT without IN, ${pairing.ambiguous} ambiguous
  not understood  ${counts.malformed} events, ${counts.withoutHead} lines without a time, ${counts.brokenTimes} broken times
  dates           ${counts.timestamps} printed, ${counts.dateJumps} jumps, ${counts.redated} events moved by a day
`;
}

function tooOld(what: string, retention: string, keptFrom: number): string {
  const [day] = iso(keptFrom).split("T");
  return (
    `licmond: skipped ${what} from before ${day}, which retention.${retention} would delete. ` +
    "To keep them, raise that setting, reload the daemon, and import again.\n"
  );
}
