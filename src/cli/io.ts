import type { Config } from "../config/config.ts";
import type { Environment } from "../config/environment.ts";
import type { LoadedConfig } from "../config/load.ts";
import type { Log } from "../domain/log.ts";
import { countOf, escapeControls } from "../domain/plain-text.ts";
import type { PollError } from "../domain/poll.ts";
import { buildInfo } from "../system/build-info.ts";

/** What a command sees of the world and changes in it. Tests give it another world. */
export type CommandIo = Omit<ReturnType<typeof processIo>, "end">;

export const EXIT_FAILURE = 1;
export const EXIT_USAGE = 2;
/** Exit code of a command that cannot reach the daemon. */
export const EXIT_UNREACHABLE = 4;

/** What is written to stdout is lost: its reader has gone, or the disk is full. */
export class StdoutError extends Error {
  override readonly name = "StdoutError";
}

/** The world of a real process. */
export function processIo() {
  let lost: StdoutError | null = null;
  // `licmond openapi | head`: the reader may go early. Any other error, e.g. a full disk, is reported.
  const lose = (error: NodeJS.ErrnoException) => {
    process.exitCode = EXIT_FAILURE;
    if (lost !== null) return;
    lost = new StdoutError(error.message, { cause: error });
    if (error.code !== "EPIPE") process.stderr.write(`licmond: stdout cannot be written: ${error.message}\n`);
  };
  process.stdout.on("error", lose);
  // A daemon goes on when its stderr has no reader any more.
  process.stderr.on("error", () => {});
  let written: Promise<void> = Promise.resolve();
  const write = (stream: NodeJS.WriteStream, text: string) => {
    // A write of nothing would be done before those that precede it.
    if (text === "") return;
    const { promise: done, resolve } = Promise.withResolvers<void>();
    stream.write(text, (error) => {
      // The event comes later than this: the process may have ended by then.
      if (error && stream === process.stdout) lose(error);
      resolve();
    });
    written = Promise.all([written, done]).then(() => {});
  };
  return {
    env: process.env as Environment,
    build: buildInfo(),
    /** Stdin piece by piece, as it comes: it may be larger than memory. */
    stdin: (): AsyncIterable<Uint8Array> => Bun.stdin.stream(),
    out: (text: string) => write(process.stdout, text),
    /**
     * Waits until all that was written so far is out of the process: a long output must not pile up. Rejects with
     * {@link StdoutError} when it is not: that has been reported, and the process will fail.
     */
    flushed: async () => {
      await written;
      if (lost !== null) throw lost;
    },
    err: (text: string) => write(process.stderr, text),
    /** 0 ok, 1 failure, 2 usage, 3 where a command says so; the last call counts. */
    exitCode: (code: number) => {
      process.exitCode = code;
    },
    /** Epoch ms. */
    now: Date.now,
    /** A person looks at stdout / stderr; `columns`, `rows`: the size of stdout's terminal, absent where it is none. */
    terminal: {
      out: process.stdout.isTTY === true,
      err: process.stderr.isTTY === true,
      // A terminal that does not know its size says 0.
      ...(process.stdout.isTTY && {
        columns: process.stdout.columns || 80,
        rows: process.stdout.rows || 24,
      }),
    },
    /**
     * Ends the process with its exit code. It does not wait for the event loop to empty: a lookup of a host name cannot
     * be called off, and where no name server answers it would hold a stopped daemon for many seconds.
     */
    end: async (): Promise<never> => {
      await written;
      return process.exit();
    },
  };
}

/** Ends a command: its message goes to stderr. */
export class Failure extends Error {
  override readonly name = "Failure";
  constructor(
    message: string,
    readonly exitCode = EXIT_FAILURE,
  ) {
    super(message);
  }
}

/** Ends a command that is called in a wrong way. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** A piece may be overwritten by the next one. */
export async function wholeStdin({ stdin }: CommandIo): Promise<Uint8Array> {
  return Buffer.concat(await Array.fromAsync(stdin(), (piece) => Buffer.from(piece)));
}

/** A log that shows only what goes wrong. */
export function warningsOn({ err }: Pick<CommandIo, "err">): Log {
  const show = (message: string) => err(`licmond: ${escapeControls(message)}\n`);
  return { debug() {}, info() {}, warn: show, error: show };
}

/** Writes a line on stderr and fails. */
export function fail(io: CommandIo, message: string): void {
  io.err(`licmond: ${escapeControls(message)}\n`);
  io.exitCode(EXIT_FAILURE);
}

/** Says why a poll failed, the tool's own words below the message; and fails. */
export function failPoll(io: CommandIo, { code, message, details }: PollError): void {
  fail(io, `${code}: ${message}`);
  if (details === null || message.includes(details)) return;
  for (const line of details.split("\n")) io.err(`  ${escapeControls(line)}\n`);
}

/** True when a stream may be coloured: https://no-color.org */
export function mayColour(io: CommandIo, stream: "out" | "err"): boolean {
  return io.terminal[stream] && (io.env.NO_COLOR ?? "") === "" && io.env.TERM !== "dumb";
}

/** A tool's words for a stream: on a terminal nothing of them may act on it; into a file or pipe they go as they are. */
export function toolWords(io: CommandIo, stream: "out" | "err", text: string): string {
  if (!io.terminal[stream]) return text;
  const safe = (line: string) => escapeControls(line.replace(/\r$/, "")).replaceAll("\\t", "\t");
  return text.split("\n").map(safe).join("\n");
}

/** Reads the config for a command. Warnings and problems go to stderr, all at once. Rejects when it cannot be used. */
export async function readConfig(
  named: string | undefined,
  io: CommandIo,
): Promise<{ readonly config: Config; readonly file: string | null }> {
  const { loadConfig } = await import("../config/load.ts");
  const loaded = loadConfig(named, io.env);
  for (const warning of loaded.warnings) io.err(`licmond: warning: ${warning}\n`);
  if (loaded.ok) return { config: loaded.config, file: loaded.file };
  for (const line of await problemLines(loaded)) io.err(`${line}\n`);
  throw new Failure(`the config cannot be used: ${countOf(loaded.problems.length, "problem")}`);
}

/** One line a problem. */
export async function problemLines(loaded: LoadedConfig): Promise<string[]> {
  const { printProblem } = await import("../config/problem.ts");
  return loaded.ok ? [] : loaded.problems.map(printProblem);
}

/** What the signals of the operating system ask for. */
export interface SignalHandlers {
  /** SIGTERM or SIGINT, the first: end in order. */
  stop(signal: string): void;
  /** A second one: the administrator does not want to wait. */
  exitNow(signal: string): void;
  /** SIGHUP: read the config again. */
  reload(): void;
}

/** Listens until the answer is called. */
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
