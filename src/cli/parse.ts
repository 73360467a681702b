import { createParseApart } from "../collector/parse-apart.ts";
import { pollErrorOf } from "../collector/poll-error.ts";
import type { CommandRun } from "../collector/run-command.ts";
import { messageOf } from "../domain/error-code.ts";
import type { ServerPicture } from "../domain/picture.ts";
import type { PollOutcome } from "../domain/poll.ts";
import { applyPoll } from "../domain/polls/apply-poll.ts";
import type { Reading } from "../domain/reading.ts";
import type { MonitoredServer } from "../domain/server.ts";
import { hostZone } from "../domain/time/zone.ts";
import type { ManagerName } from "../domain/words.ts";
import { featureRecord, serverRecord, userRecords } from "../http/records.ts";
import { createKnownHosts, type Manager, type ParseContext } from "../managers/manager.ts";
import { shippedText } from "../managers/profiles/shipped.ts";
import { readOutputSync, recode } from "../managers/read-output.ts";
import { builtInManager, MANAGERS, managerNames, managerOf } from "../managers/registry.ts";
import { command, ENCODING, option, required, text, ZONE } from "./command.ts";
import {
  type CommandIo,
  Failure,
  failPoll,
  readConfig,
  toolWords,
  UsageError,
  unknownManager,
  wholeStdin,
} from "./io.ts";
import { printJson, printTable } from "./terminal.ts";

/** Exit code for a text that was read with incomplete numbers. */
const EXIT_PARTIAL = 3;

const MANAGER = `manager of the output: ${MANAGERS.join(", ")}, or one from the config`;

export const parse = command({
  args: [["[file]", "the output; default or -: stdin"]],
  options: {
    manager: required("<name>", MANAGER, String),
    encoding: option("<name>", "encoding of the output, e.g. euc-kr (default: detected)", ENCODING),
    timezone: option("<zone>", "time zone of the server (default: this host's)", ZONE),
    server: text("<id>", "id of the server in the records (default: the manager's name)"),
  },
  async run({ args: [file = "-"], options, config }, io) {
    const { manager: name, encoding = null, timezone = hostZone(), server = name } = options;
    const manager = await managerNamed(name, config, io);
    const bytes = file === "-" ? await wholeStdin(io) : await bytesOf(file);
    const asked = serverOf(server, name, file === "-" ? "stdin" : file, timezone);
    await parseOutput(encoding === null ? bytes : recode(bytes, encoding), manager, asked, io);
  },
});

export const managers = command({
  args: [
    ["[show]", "print the profile of a manager"],
    ["[manager]", "name of the manager"],
  ],
  usage: "[options] [show <manager>]",
  async run({ args: [verb, name], config: file }, io) {
    if (verb !== undefined && (verb !== "show" || name === undefined))
      throw new UsageError("expected no arguments, or: show <manager>");
    if (name !== undefined) {
      const text = shippedText(name);
      const isCode = builtInManager(name) !== null;
      const why = isCode ? `${name} is built in and has no profile` : `unknown profile "${name}"`;
      if (text === undefined) throw new UsageError(`${why}; see \`licmond managers\``);
      return io.out(text);
    }
    const { config } = await readConfig(file, io);
    const rows = managerNames(config.managers).map((each) => {
      const { title, experimental = false } = managerOf(each, config.managers);
      const isOwn = config.managers.some((own) => own.name === each);
      const kind = isOwn ? "config" : builtInManager(each) === null ? "profile" : "code";
      return [each, title, kind, experimental ? "experimental" : isOwn ? "" : "seen"];
    });
    io.out(printTable(["name", "title", "kind", "outputs"], rows, io.terminal.columns));
  },
});

/** Finds a manager. Reads the config only for a manager that is not built in. */
async function managerNamed(name: string, config: string | undefined, io: CommandIo): Promise<Manager> {
  if (MANAGERS.includes(name)) return managerOf(name);
  const { managers } = (await readConfig(config, io)).config;
  const names = managerNames(managers);
  if (names.includes(name)) return managerOf(name, managers);
  throw unknownManager(name, names);
}

/** Parses a text like the output of a poll, with the parser, rules and messages of the collector. */
async function parseOutput(bytes: Uint8Array, manager: Manager, server: MonitoredServer, io: CommandIo) {
  const { address: name, timezone: zone } = server;
  const now = io.now();
  const reading = await readingOf(bytes, manager, { zone, now });
  const outcome = outcomeOf(server, manager, null, [name], bytes, reading, now, 0);
  const picture = applyPoll(null, server, outcome, null);
  // The parser keeps only the first unknown lines; the rest are counted.
  for (const { line, text } of reading.unparsed) io.err(`line ${line}: ${toolWords(io, "err", text)}\n`);
  const more = reading.unparsedLines - reading.unparsed.length;
  if (more > 0) io.err(`and ${more} more unrecognized lines\n`);

  const { error } = outcome;
  const strange = `contains nothing that ${manager.name}'s tool prints`;
  if (error?.code === "LICENSE_PARSE_ERROR" && reading.problem !== undefined)
    throw new Failure(`${name}: ${reading.problem}`);
  if (error?.code === "LICENSE_PARSE_ERROR")
    throw new Failure(`${name} ${error.details === null ? "is empty" : strange}`);
  io.out(printRecords(picture));
  if (error !== null) failPoll(io, error);
  else io.exitCode(picture.state === "ok" ? 0 : EXIT_PARTIAL);
}

async function readingOf(bytes: Uint8Array, manager: Manager, context: Omit<ParseContext, "knownHosts">) {
  const { profile } = manager;
  if (profile === undefined)
    return readOutputSync(bytes, manager.createParser({ ...context, knownHosts: createKnownHosts() }));
  const apart = createParseApart();
  return apart.read(profile, bytes, context, false).finally(apart.stop);
}

export function serverOf(id: string, manager: ManagerName, address: string, timezone: string) {
  const unset = { tool: null, labels: {}, secretFile: null, caFile: null, encoding: null };
  const more = { logFile: null, logCommand: null, timezone, intervalMs: 60_000, timeoutMs: 0, enabled: true };
  return { id, name: id, manager, address, ...unset, ...more } satisfies MonitoredServer;
}

/**
 * Returns the outcome of a poll whose tool has exited. `address` is the server's address; null if unknown.
 */
export function outcomeOf(
  server: MonitoredServer,
  { explain, quorum: quorumOf }: Pick<Manager, "explain" | "quorum">,
  address: string | null,
  argv: readonly string[],
  stdout: Uint8Array,
  reading: Reading,
  finishedAt: number,
  durationMs: number,
): PollOutcome {
  const raw = { argv, exitCode: 0, signal: null, stdout, stderr: new Uint8Array(0), truncated: false };
  const whole = { stderrTruncated: false, timedOut: false, aborted: false, abandoned: false };
  const result: CommandRun = { ...raw, ...whole, started: true, durationMs };
  const times = { startedAt: finishedAt - durationMs, finishedAt, durationMs };
  const error = pollErrorOf({ result, reading, address, timeoutMs: server.timeoutMs, explain });
  const known = reading.recognised ? reading : null;
  const quorum = quorumOf(reading.members.length);
  return { serverId: server.id, ...times, reading: known, error, raw, reachability: [], quorum };
}

async function bytesOf(file: string): Promise<Uint8Array> {
  try {
    return await Bun.file(file).bytes();
  } catch (error) {
    throw new Failure(`cannot read ${file}: ${messageOf(error)}`);
  }
}

export function printRecords(picture: ServerPicture): string {
  const { id } = picture.server;
  return printJson({
    servers: [serverRecord(picture)],
    features: picture.features.map((feature) => featureRecord({ id }, feature)),
    users: picture.features.flatMap((feature) => userRecords({ id }, feature)),
  });
}

/**
 * Formats a picture for people: the server, its features and their holders. `columns` is the width of the
 * terminal.
 */
export function printPicture(picture: ServerPicture, columns?: number): string {
  const table = (heads: readonly string[], rows: readonly (readonly string[])[]) =>
    rows.length === 0 ? "" : printTable(heads, rows, columns);
  const server = serverRecord(picture);
  const ms = server.pollDurationMs;
  const polled = ms === null ? "" : `, polled in ${(ms / 1000).toFixed(2)} s`;
  const head = `${server.id}: ${server.status}, ${server.state}${polled}\n`;
  const parts = [
    ...server.members.map(({ host, port, status, master, version, error }) => {
      const name = `${port === null ? "" : `${port}@`}${host}${master ? " (master)" : ""}`;
      return ["member", name, status, version ?? "", error ?? ""];
    }),
    ...server.daemons.map((one) => ["daemon", one.name, one.status, one.version ?? "", one.error ?? ""]),
  ];
  const features = picture.features.map((feature) => {
    const record = featureRecord(server, feature);
    const { daemon, name, total, used, available, queued, unlimited, permanent, state } = record;
    const [seats, free] = unlimited ? ["unlimited", ""] : [known(total), known(available)];
    const expiry = permanent ? "permanent" : (record.expiresOn ?? "?");
    return [daemon, name, seats, known(used), free, queued ? String(queued) : "", expiry, state];
  });
  const users = picture.features
    .flatMap((feature) => userRecords(server, feature))
    .map(({ kind, feature, user, host, count, startedAt, reservedFor }) => {
      const holder = user ?? (reservedFor === null ? "?" : `${reservedFor.type} ${reservedFor.name}`);
      return [kind, feature, holder, host ?? "", String(count), startedAt ?? ""];
    });
  const tables = [
    head,
    table(["part", "name", "status", "version", "error"], parts),
    table(["daemon", "feature", ">total", ">used", ">free", ">queued", "expires", "state"], features),
    table(["kind", "feature", "user", "host", ">seats", "since"], users),
  ];
  return tables.filter((text) => text !== "").join("\n");
}

const known = (count: number | null) => String(count ?? "?");
