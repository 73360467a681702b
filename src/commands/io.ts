import type { Environment } from "../config/environment.ts";
import { escapeControls } from "../domain/plain-text.ts";
import { type BuildInfo, buildInfo } from "../system/build-info.ts";

/** What a command sees of the world and leaves behind in it. Tests give it another world. */
export interface CommandIo {
  readonly env: Environment;
  readonly build: BuildInfo;
  /** Bytes of stdin, to its end. */
  stdin(): Promise<Uint8Array>;
  out(text: string): void;
  err(text: string): void;
  /** 0 ok, 1 failure, 2 usage, 3 where a command says so; the last call counts. */
  exitCode(code: number): void;
  /** Epoch ms. */
  now(): number;
  /** A person looks at stdout / stderr. */
  readonly terminal: { readonly out: boolean; readonly err: boolean };
}

export const EXIT_FAILURE = 1;
export const EXIT_USAGE = 2;

export function processIo(): CommandIo {
  // `licmond openapi | head`: whoever reads may go early. Anything else, e.g. a full disk, is a failure.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    process.exitCode = EXIT_FAILURE;
    if (error.code !== "EPIPE") process.stderr.write(`licmond: stdout cannot be written: ${error.message}\n`);
  });
  // A daemon goes on when nobody reads its words any more; there is nobody left to be told.
  process.stderr.on("error", () => {});
  return {
    env: process.env,
    build: buildInfo(),
    stdin: async () => new Uint8Array(await Bun.stdin.arrayBuffer()),
    out: (text) => void process.stdout.write(text),
    err: (text) => void process.stderr.write(text),
    exitCode: (code) => {
      process.exitCode = code;
    },
    now: Date.now,
    terminal: { out: process.stdout.isTTY === true, err: process.stderr.isTTY === true },
  };
}

/** Writes a line on stderr and fails. */
export function fail(io: CommandIo, message: string): void {
  io.err(`licmond: ${escapeControls(message)}\n`);
  io.exitCode(EXIT_FAILURE);
}

/** True when a stream may be coloured: https://no-color.org */
export function mayColour(io: CommandIo, stream: "out" | "err"): boolean {
  return io.terminal[stream] && (io.env.NO_COLOR ?? "") === "" && io.env.TERM !== "dumb";
}

/** A tool's words: on a terminal nothing of them may act on it; into a file or pipe they go as they are. */
export function toolWords(io: CommandIo, text: string): string {
  if (!io.terminal.out) return text;
  return text
    .split("\n")
    .map((line) => escapeControls(line.replace(/\r$/, "")).replaceAll("\\t", "\t"))
    .join("\n");
}
