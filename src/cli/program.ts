import { type AddHelpTextContext, Command, CommanderError } from "commander";
import { messageOf } from "../domain/error-code.ts";
import { escapeControls } from "../domain/plain-text.ts";
import help from "./help.txt" with { type: "text" };
import {
  type CommandIo,
  EXIT_FAILURE,
  EXIT_USAGE,
  Failure,
  fail,
  mayColour,
  StdoutError,
  withConfigOption,
} from "./io.ts";

type Verb = { define(command: Command, io: CommandIo): void };

/** The file of each verb, in the order of the help: its arguments, its options and its work. */
const VERBS: Record<string, () => Promise<Verb>> = {
  serve: () => import("./serve.ts"),
  demo: () => import("./demo.ts"),
  init: () => import("./init.ts"),
  check: () => import("./check/check.ts"),
  probe: () => import("./probe.ts"),
  parse: () => import("./parse.ts"),
  keys: () => import("./keys.ts"),
  notify: () => import("./notify.ts"),
  simulate: () => import("./simulate.ts"),
  export: () => import("./export.ts"),
  import: () => import("./import.ts"),
  install: () => import("./install.ts"),
  upgrade: () => import("./upgrade.ts"),
  uninstall: () => import("./uninstall.ts"),
  backup: () => import("./backup.ts"),
  restore: async () => ({ define: (await import("./backup.ts")).defineRestore }),
  openapi: () => import("./openapi.ts"),
  version: () => import("./version.ts"),
};

/**
 * The command line. Only the verbs that `args` name are loaded, because each imports all that it works with: `simulate`
 * is started for every poll of the demo. Without `args` all are.
 */
export async function createProgram(io: CommandIo, args?: readonly string[]): Promise<Command> {
  const own = helpOf("licmond");
  const program = withConfigOption(new Command("licmond"))
    .description(own.does)
    .usage("[options] <command>")
    .version(io.build.version, "-V, --version", "print version and commit")
    .enablePositionalOptions()
    // With their options and arguments the names leave less room to the descriptions than is wrapped.
    .configureHelp({ subcommandTerm: (command) => command.name() })
    .addHelpText("beforeAll", refuseUnknown)
    .exitOverride()
    .configureOutput({
      writeOut: io.out,
      writeErr: io.err,
      getOutHasColors: () => mayColour(io, "out"),
      getErrHasColors: () => mayColour(io, "err"),
    })
    .addHelpText("after", own.more);
  for (const [name, load] of Object.entries(VERBS)) {
    const { does, more } = helpOf(name);
    const command = withConfigOption(program.command(name)).summary(does).description(does);
    if (args !== undefined && !args.includes(name)) continue;
    (await load()).define(command, io);
    command.addHelpText("after", more);
    for (const below of command.commands) {
      const its = helpOf(`${name} ${below.name()}`);
      below.description(its.does).addHelpText("after", its.more);
    }
  }
  return program;
}

/** What `help.txt` says of a command below its name in brackets: what it does, and more behind its options. */
function helpOf(name: string): { readonly does: string; readonly more: string } {
  const parts = help.split(/^\[([a-z ]+)\]\n/m);
  const [does = "", ...more] = (parts[parts.indexOf(name) + 1] ?? "").trimEnd().split("\n");
  return { does, more: more.join("\n") };
}

/** `licmond nosuch --help`: commander would print the help of the whole, as if that were what was asked for. */
function refuseUnknown({ command }: AddHelpTextContext): string {
  const name = command.args.find((word) => !word.startsWith("-"));
  const known = ["help", ...command.commands.map((each) => each.name())];
  if (name === undefined || command.commands.length === 0 || known.includes(name)) return "";
  return command.error(`error: unknown command '${name}'`, { exitCode: EXIT_USAGE });
}

/** Runs a command line (without the program's own name). Never throws; the outcome is in `io.exitCode`. */
export async function runProgram(args: readonly string[], io: CommandIo): Promise<void> {
  try {
    const program = await createProgram(io, args);
    if (args.length === 0) return program.help({ error: true });
    await program.parseAsync(args, { from: "user" });
  } catch (error) {
    // The message has been written.
    if (error instanceof CommanderError) return io.exitCode(error.exitCode === 0 ? 0 : EXIT_USAGE);
    if (error instanceof StdoutError) return io.exitCode(EXIT_FAILURE);
    if (error instanceof Failure) return fail(io, error.message);
    const { StoreError } = await import("../store/database/store-error.ts");
    if (error instanceof StoreError) return fail(io, `${error.message}. ${error.fix}`);
    io.err(`licmond: ${messageOf(error).split("\n").map(escapeControls).join("\n")}\n`);
    if (io.env.LICMOND_LOG_LEVEL === "debug" && error instanceof Error) io.err(`${error.stack ?? ""}\n`);
    io.exitCode(EXIT_FAILURE);
  }
}
