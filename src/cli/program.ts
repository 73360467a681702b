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

/** What each verb does, in the order of the help. */
const VERBS = {
  serve: "Runs the daemon in the foreground: polls the license servers, stores, and answers over HTTP.",
  demo: "Runs the whole daemon on simulated license servers.",
  init: "Writes a commented config file. It never writes over one that is there.",
  check:
    "Checks the config, the tools, the storage directory, the port, and the license servers: names, answers, clocks.",
  probe: "Asks one license server once, now, and prints what it says. The daemon need not run.",
  parse: "Reads a tool's output and prints it as the API's records: servers, features, users.",
  keys: "Makes, lists and revokes API keys, also while the daemon runs.",
  notify: "Sends a test message to every configured notification target, and says what came of it.",
  simulate: "Behaves like a license manager's tool on a simulated server.",
  export: "Writes a whole table of what is stored, as CSV or JSON. Nothing is changed; a daemon may run.",
  import: "Reads FlexNet debug logs into history: who had what, when, and who was denied.",
  install: "Installs this binary as a systemd service, with a user of its own and a config to fill in.",
  upgrade: "Replaces the installed binary, restarts the service, and goes back when that fails.",
  uninstall: "Stops the service and removes what install laid down. Config, data and user stay.",
  backup: "Copies the databases (licmond.db, state.db) into one file, also while the daemon runs.",
  restore: "Puts a backup in the place of the databases. The daemon must be stopped.",
  openapi: "Prints the OpenAPI document that a daemon serves at /swagger/json.",
  version: "Prints version and commit.",
};

/** The file of each verb: its arguments, its options and its work. */
const FILES: Record<keyof typeof VERBS, () => Promise<{ define(command: Command, io: CommandIo): void }>> = {
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
  const program = withConfigOption(new Command("licmond"))
    .description("Watches software license servers: who holds the last seat, since when, what expires next.")
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
    .addHelpText(
      "after",
      `
Start here:
  licmond demo              the whole daemon on simulated license servers
  sudo ./licmond install    a service of this host, with a config to fill in
  sudo licmond check        what is still wrong with it
  licmond serve             the daemon in the foreground (licmond init writes
                            a config alone)

Exit codes: 0 ok, 1 failure, 2 usage.`,
    );
  for (const [name, does] of Object.entries(VERBS)) {
    const command = withConfigOption(program.command(name)).summary(does).description(does);
    if (args !== undefined && !args.includes(name)) continue;
    (await FILES[name as keyof typeof VERBS]()).define(command, io);
    addHelp(command, name);
    for (const below of command.commands) addHelp(below, `${name} ${below.name()}`);
  }
  return program;
}

/** In turn the name of a command, in brackets in the file, and the text below its options. */
const HELP = help.split(/^\[([a-z ]+)\]$/m);

function addHelp(command: Command, name: string): void {
  const at = HELP.indexOf(name);
  if (at >= 0) command.addHelpText("after", HELP[at + 1]?.trimEnd() ?? "");
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
