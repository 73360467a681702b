import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CommandIo } from "../../src/cli/io.ts";
import { runProgram } from "../../src/cli/program.ts";

export interface Ran {
  readonly exitCode: number;
  readonly out: string;
  readonly err: string;
}

export interface RunOptions {
  readonly stdin?: string | Uint8Array;
  readonly env?: Readonly<Record<string, string>>;
  /** Whether stdout and stderr are terminals. */
  readonly terminal?: boolean | CommandIo["terminal"];
  readonly version?: string;
  /** Time of the command in epoch ms; default: the current time. */
  readonly now?: number;
}

/** Environment and results of a command. */
export function world(options: RunOptions = {}): { readonly io: CommandIo; readonly left: Ran } {
  const { stdin = "", terminal = false, version = "1.2.3" } = options;
  const left = { exitCode: 0, out: "", err: "" };
  const bytes = typeof stdin === "string" ? new TextEncoder().encode(stdin) : stdin;
  const io: CommandIo = {
    env: { PATH: process.env.PATH ?? "", ...options.env },
    build: { version, commit: "abc", bun: Bun.version },
    async *stdin() {
      yield bytes;
    },
    out(text) {
      left.out += text;
    },
    flushed: () => Promise.resolve(),
    err(text) {
      left.err += text;
    },
    exitCode(code) {
      left.exitCode = code;
    },
    now: () => options.now ?? Date.now(),
    terminal: typeof terminal === "boolean" ? { out: terminal, err: terminal } : terminal,
  };
  return { io, left };
}

/** Runs a command line in this process, in a separate environment. */
export async function run(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const { io, left } = world(options);
  await runProgram(args, io);
  return left;
}

export type Place = Awaited<ReturnType<typeof createPlace>>;

/** Creates a directory with a config and its storage. */
export async function createPlace() {
  const folder = await mkdtemp(join(tmpdir(), "licmond-commands-"));
  const config = join(folder, "licmond.toml");
  const storage = join(folder, "storage");
  const head = `[http]\nhost = "127.0.0.1"\nport = 0\n[storage]\ndirectory = "${storage}"`;
  const write = async (toml: string) => void (await Bun.write(config, `${head}\n${toml}\n`));
  await write("");
  const remove = () => rm(folder, { recursive: true, force: true });
  return { folder, config, storage, write, [Symbol.asyncDispose]: remove };
}

/** Writes a config with a FlexNet server whose tool prints a text; `settings` are more lines of its table. */
export async function withTool(place: Place, output: string, settings = "", manager = "flexnet") {
  const tool = join(place.folder, "lmutil");
  await Bun.write(`${tool}.txt`, output);
  await Bun.write(tool, `#!/bin/sh\nexec cat '${tool}.txt'\n`);
  await chmod(tool, 0o755);
  const server = `id = "eda"\nmanager = "${manager}"\naddress = "27000@127.0.0.1"`;
  await place.write(`[[servers]]\n${server}\ntool = "${tool}"\n${settings}`);
  return tool;
}
