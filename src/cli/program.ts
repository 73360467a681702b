import { type AddHelpTextContext, Command, CommanderError, Option as CommanderOption } from "commander";
import { messageOf } from "../domain/error-code.ts";
import { escapeControls } from "../domain/plain-text.ts";
import { versionLine } from "../system/build-info.ts";
import { type Command as Declared, type Group, type Option, text } from "./command.ts";
import texts from "./help.txt" with { type: "text" };
import { type CommandIo, EXIT_FAILURE, EXIT_USAGE, Failure, StdoutError, UsageError } from "./io.ts";

/**
 * Commands in the order of the help. Only the command in use is loaded, because the demo starts `simulate`
 * for every poll.
 */
const PROGRAM: Group = {
  commands: {
    serve: async () => (await import("./serve.ts")).serve,
    hub: async () => (await import("./serve.ts")).hub,
    demo: async () => (await import("./demo/demo.ts")).demo,
    init: async () => (await import("./init.ts")).init,
    check: async () => (await import("./check/check.ts")).check,
    status: async () => (await import("./ask/status.ts")).status,
    features: async () => (await import("./ask/features.ts")).features,
    who: async () => (await import("./ask/who.ts")).who,
    wait: async () => (await import("./ask/wait.ts")).wait,
    denials: async () => (await import("./ask/lists.ts")).denials,
    expiring: async () => (await import("./ask/lists.ts")).expiring,
    outages: async () => (await import("./ask/lists.ts")).outages,
    top: async () => (await import("./ask/top.ts")).top,
    open: async () => (await import("./ask/open.ts")).open,
    completion: async () => (await import("./ask/completion.ts")).completionCommand(createProgram),
    probe: async () => (await import("./probe.ts")).probe,
    managers: async () => (await import("./parse.ts")).managers,
    parse: async () => (await import("./parse.ts")).parse,
    keys: async () => (await import("./ask/keys.ts")).keys,
    fleet: async () => (await import("./ask/fleet.ts")).fleet,
    notify: async () => (await import("./notify.ts")).notify,
    simulate: async () => (await import("./simulate.ts")).simulate,
    export: async () => (await import("./history/export.ts")).exportTable,
    report: async () => (await import("./history/report.ts")).report,
    import: async () => (await import("./history/import.ts")).importFiles,
    install: async () => (await import("./install.ts")).installCommand(createProgram),
    upgrade: async () => (await import("./upgrade.ts")).upgrade,
    uninstall: async () => (await import("./install.ts")).uninstall,
    backup: async () => (await import("./backup.ts")).backup,
    restore: async () => (await import("./backup.ts")).restore,
    openapi: async () => (await import("./about.ts")).openapi,
    version: async () => (await import("./about.ts")).version,
  },
};

/** Creates the command line with the commands in `args`, or all of them without `args`. */
export async function createProgram(io: CommandIo, args?: readonly string[]): Promise<Command> {
  const helpWidth = () => io.terminal.columns ?? 80;
  const program = new Command("licmond")
    .usage("[options] <command>")
    .enablePositionalOptions()
    // List commands by name only, so that their descriptions have more room.
    .configureHelp({ subcommandTerm: (command) => command.name() })
    .addHelpText("beforeAll", refuseUnknown)
    .exitOverride()
    .configureOutput({
      writeOut: io.out,
      writeErr: io.err,
      outputError: (text, write) => write(text.replace(/^error: /, "licmond: ")),
      getOutHelpWidth: helpWidth,
      getErrHelpWidth: helpWidth,
    });
  await define(program, "licmond", PROGRAM, io, args);
  return program.version(versionLine(io.build), "-V, --version", "print version and commit");
}

/** Rejects `licmond nosuch --help`, for which commander would print the general help. */
function refuseUnknown({ command }: AddHelpTextContext): string {
  const name = command.args.find((word) => !word.startsWith("-") && word !== "help");
  const { commands } = command;
  const isUnknown =
    name !== undefined && commands.length > 0 && commands.every((each) => each.name() !== name);
  if (isUnknown) command.parse([name], { from: "user" });
  return "";
}

/** Runs a command line (without the program's name). Never throws; sets `io.exitCode`. */
export async function runProgram(args: readonly string[], io: CommandIo): Promise<void> {
  try {
    const program = await createProgram(io, args);
    await program.parseAsync(args, { from: "user" });
  } catch (error) {
    // Commander has printed the message.
    if (error instanceof CommanderError) return io.exitCode(error.exitCode === 0 ? 0 : EXIT_USAGE);
    if (error instanceof StdoutError) return io.exitCode(EXIT_FAILURE);
    if (error instanceof UsageError) {
      io.err(`licmond: ${error.message}\n`);
      return io.exitCode(EXIT_USAGE);
    }
    const { StoreError } = await import("../store/database/store-error.ts");
    const message = error instanceof StoreError ? `${error.message}. ${error.fix}` : messageOf(error);
    io.err(`licmond: ${message.split("\n").map(escapeControls).join("\n")}\n`);
    io.exitCode(error instanceof Failure ? error.exitCode : EXIT_FAILURE);
    const isExpected = error instanceof Failure || error instanceof StoreError;
    if (io.env.LICMOND_LOG_LEVEL === "debug" && error instanceof Error && !isExpected)
      io.err(`${error.stack ?? ""}\n`);
  }
}

const CONFIG = text("<file>", "config file (default: $LICMOND_CONFIG, else /etc/licmond/licmond.toml)");

/**
 * Declares a command to commander: arguments, options, help and the function to run. Loads the subcommands
 * in `words`, or all of them without `words`. `title` is the command's full name, as in `help.txt`.
 */
export async function define(
  commander: Command,
  title: string,
  declared: Declared | Group,
  io: CommandIo,
  words?: readonly string[],
): Promise<void> {
  const { about, more } = wordsOf(title);
  const width = io.terminal.columns ?? 80;
  // Join the lines of a paragraph; keep indented lines.
  const paragraphs = more.replace(/(?<=^\S.*)\n(?=\S)/gm, " ");
  const wrapped = paragraphs.replace(/^\S.*/gm, (text) => commander.createHelp().boxWrap(text, width));
  commander.description(about).addHelpText("after", wrapped);
  defineOption(commander, "config", CONFIG);
  if ("commands" in declared) {
    for (const [name, load] of Object.entries(declared.commands)) {
      const full = `${title} ${name}`;
      const below = commander.command(name).summary(wordsOf(full).does);
      if (words?.includes(name) !== false) await define(below, full, await load(), io, words);
    }
    return;
  }
  for (const [name, option] of Object.entries(declared.options ?? {})) defineOption(commander, name, option);
  for (const [name, help] of declared.args ?? []) commander.argument(name, help);
  if (declared.usage !== undefined) commander.usage(declared.usage);
  if (declared.passesOn) commander.passThroughOptions();
  commander.action(() => {
    const { args } = commander;
    if (declared.passesOn && args[1] === "--help") return commander.outputHelp();
    return declared.run({ args, options: commander.opts(), config: configOf(commander) }, io);
  });
}

function defineOption(commander: Command, name: string, its: Option<unknown>): void {
  const short = its.short === undefined ? "" : `-${its.short}, `;
  const value = its.value === undefined ? "" : ` ${its.value}`;
  const option = new CommanderOption(`${short}--${name}${value}`, its.help)
    .default(its.default)
    .hideHelp(its.isHidden === true)
    .makeOptionMandatory(its.isRequired === true);
  if (its.read !== undefined) option.argParser(its.read);
  if (its.choices !== undefined) option.choices(its.choices.map(String));
  // Keep the declared name: commander would take `--no-x` for the negation of `--x`.
  commander.addOption(Object.assign(option, { attributeName: () => name, negate: false }));
  if (its.value === undefined) commander.setOptionValue(name, false);
}

/**
 * Returns the file of `--config`. An option after the subcommand takes precedence over an option before the
 * subcommand.
 */
function configOf(commander: Command | null): string | undefined {
  return commander === null ? undefined : (commander.getOptionValue("config") ?? configOf(commander.parent));
}

/** Returns a command's texts in `help.txt`: its line in the list, the head of its help, and the text after its options. */
function wordsOf(title: string): { readonly does: string; readonly about: string; readonly more: string } {
  const parts = texts.split(/^\[([a-z ]+)\]\n/m);
  const text = parts[parts.indexOf(title) + 1] ?? "";
  const [, does = "", about = does, more = ""] = /^(.*)\n(?:(.+)\n)?([\s\S]*?)\n*$/.exec(text) ?? [];
  return { does, about, more };
}
