import type { Config } from "../config/config.ts";
import type { Environment } from "../config/environment.ts";
import type { LoadedConfig } from "../config/load.ts";
import type { Log } from "../domain/log.ts";
import { countOf, escapeControls } from "../domain/plain-text.ts";
import type { PollError } from "../domain/poll.ts";
import type { MonitoredServer } from "../domain/server.ts";
import { buildInfo } from "../system/build-info.ts";

/** Environment of a command; tests replace it. */
export type CommandIo = Omit<ReturnType<typeof processIo>, "end">;

export const EXIT_FAILURE = 1;
export const EXIT_USAGE = 2;
/** Exit code of a command that cannot reach the daemon. */
export const EXIT_UNREACHABLE = 4;

/** Output to stdout is lost: the reader is gone, or the disk is full. */
export class StdoutError extends Error {
  override readonly name = "StdoutError";
}

/** Returns the environment of the real process. */
export function processIo() {
  let lost: StdoutError | null = null;
  // EPIPE is normal: `licmond openapi | head`. Report any other error, e.g. a full disk.
  const lose = (error: NodeJS.ErrnoException) => {
    process.exitCode = EXIT_FAILURE;
    if (lost !== null) return;
    lost = new StdoutError(error.message, { cause: error });
    if (error.code !== "EPIPE") process.stderr.write(`licmond: cannot write to stdout: ${error.message}\n`);
  };
  process.stdout.on("error", lose);
  // A daemon keeps running without a reader of its stderr.
  process.stderr.on("error", () => {});
  let written: Promise<void> = Promise.resolve();
  const write = (stream: NodeJS.WriteStream, text: string) => {
    // Skip an empty write, which would resolve before earlier writes.
    if (text === "") return;
    const { promise: done, resolve } = Promise.withResolvers<void>();
    stream.write(text, (error) => {
      // The error event comes later, when the process may already have exited.
      if (error && stream === process.stdout) lose(error);
      resolve();
    });
    written = Promise.all([written, done]).then(() => {});
  };
  return {
    env: process.env as Environment,
    build: buildInfo(),
    /** Stdin as it arrives; it may be larger than memory. */
    stdin: (): AsyncIterable<Uint8Array> => Bun.stdin.stream(),
    out: (text: string) => write(process.stdout, text),
    /**
     * Waits until all output is written, so that long output does not pile up. Rejects with {@link
     * StdoutError} if writing fails, after reporting the failure and setting the exit code.
     */
    flushed: async () => {
      await written;
      if (lost !== null) throw lost;
    },
    err: (text: string) => write(process.stderr, text),
    /** Sets the exit code: 0 ok, 1 failure, 2 usage, 3 command-specific. The last call wins. */
    exitCode: (code: number) => {
      process.exitCode = code;
    },
    now: Date.now,
    /**
     * Whether stdout and stderr are terminals. `columns` and `rows` are the size of stdout's terminal, if
     * it is one.
     */
    terminal: {
      out: process.stdout.isTTY === true,
      err: process.stderr.isTTY === true,
      // A terminal without a size reports 0.
      ...(process.stdout.isTTY && { columns: process.stdout.columns || 80, rows: process.stdout.rows || 24 }),
    },
    /**
     * Exits without waiting for the event loop. A host name lookup cannot be canceled, and without a name
     * server a lookup would delay a stopped daemon for many seconds.
     */
    end: async (): Promise<never> => {
      await written;
      return process.exit();
    },
  };
}

export class Failure extends Error {
  override readonly name = "Failure";
  constructor(
    message: string,
    readonly exitCode = EXIT_FAILURE,
  ) {
    super(message);
  }
}

export class UsageError extends Error {
  override readonly name = "UsageError";
}

export async function wholeStdin({ stdin }: CommandIo): Promise<Uint8Array> {
  return Buffer.concat(await Array.fromAsync(stdin(), (piece) => Buffer.from(piece)));
}

export function warningsOn({ err }: Pick<CommandIo, "err">): Log {
  const show = (message: string) => err(`licmond: ${escapeControls(message)}\n`);
  return { debug() {}, info() {}, warn: show, error: show };
}

export function fail(io: CommandIo, message: string): void {
  io.err(`licmond: ${escapeControls(message)}\n`);
  io.exitCode(EXIT_FAILURE);
}

/** Prints why a poll failed, with the tool's output below, and sets the exit code of a failure. */
export function failPoll(io: CommandIo, { code, message, details }: PollError): void {
  fail(io, `${code}: ${message}`);
  if (details === null || message.includes(details)) return;
  for (const line of details.split("\n")) io.err(`  ${escapeControls(line)}\n`);
}

/** Reports whether a stream may be colored: https://no-color.org */
export function mayColour(io: CommandIo, stream: "out" | "err"): boolean {
  return io.terminal[stream] && (io.env.NO_COLOR ?? "") === "" && io.env.TERM !== "dumb";
}

/** Returns a tool's output for a stream. Escapes control characters on a terminal only. */
export function toolWords(io: CommandIo, stream: "out" | "err", text: string): string {
  if (!io.terminal[stream]) return text;
  const safe = (line: string) => escapeControls(line.replace(/\r$/, "")).replaceAll("\\t", "\t");
  return text.split("\n").map(safe).join("\n");
}

/** Returns the server with this id. */
export function serverNamed({ servers }: Pick<Config, "servers">, id: string, advice = ""): MonitoredServer {
  const ids = servers.map((one) => one.id).join(", ");
  const known = ids === "" ? "no servers configured" : `expected one of ${ids}`;
  const found = servers.find((one) => one.id === id);
  if (found === undefined) throw new UsageError(`unknown server "${id}" (${known})${advice}`);
  return found;
}

export function unknownManager(name: string, names: readonly string[]): UsageError {
  return new UsageError(`unknown manager "${name}"; expected one of ${names.join(", ")}`);
}

/** Reads the config for a command. Prints all warnings and problems on stderr. Rejects if the config is unusable. */
export async function readConfig(named: string | undefined, io: CommandIo) {
  const { loadConfig } = await import("../config/load.ts");
  const loaded = loadConfig(named, io.env);
  for (const warning of loaded.warnings) io.err(`licmond: warning: ${warning}\n`);
  if (loaded.ok) return { config: loaded.config, file: loaded.file };
  for (const line of await problemLines(loaded)) io.err(`${line}\n`);
  throw new Failure(`invalid config: ${countOf(loaded.problems.length, "problem")}`);
}

export async function problemLines(loaded: LoadedConfig): Promise<string[]> {
  const { printProblem } = await import("../config/problem.ts");
  return loaded.ok ? [] : loaded.problems.map(printProblem);
}

interface SignalHandlers {
  stop(signal: string): void;
  exitNow(signal: string): void;
  reload(): void;
}

/**
 * Calls `stop` on the first SIGTERM or SIGINT, `exitNow` on the second one, and `reload` on SIGHUP, until the returned
 * function is called.
 */
export function listenToSignals(
  { stop, exitNow, reload }: SignalHandlers,
  source: Pick<NodeJS.EventEmitter, "on" | "off"> = process,
): () => void {
  let isStopping = false;
  const end = (signal: string) => {
    if (isStopping) return exitNow(signal);
    isStopping = true;
    stop(signal);
  };
  const listeners = { SIGTERM: end, SIGINT: end, SIGHUP: reload };
  for (const [signal, listener] of Object.entries(listeners)) source.on(signal, listener);
  return () => {
    for (const [signal, listener] of Object.entries(listeners)) source.off(signal, listener);
  };
}
