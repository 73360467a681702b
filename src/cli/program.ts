import { type AddHelpTextContext, Command, CommanderError } from "commander";
import { registerBackup } from "./backup.ts";
import { registerCheck } from "./check/check.ts";
import { withConfigOption } from "./config-option.ts";
import { registerDemo } from "./demo.ts";
import { registerExport } from "./export.ts";
import { registerImport } from "./import.ts";
import { registerInit } from "./init.ts";
import { registerInstall } from "./install.ts";
import { type CommandIo, EXIT_FAILURE, EXIT_USAGE, mayColour } from "./io.ts";
import { registerKeys } from "./keys.ts";
import { registerNotify } from "./notify.ts";
import { registerOpenapi } from "./openapi.ts";
import { registerParse } from "./parse.ts";
import { registerProbe } from "./probe.ts";
import { registerRestore } from "./restore.ts";
import { registerServe } from "./serve.ts";
import { simulateCommand } from "./simulate.ts";
import { registerUninstall } from "./uninstall.ts";
import { registerUpgrade } from "./upgrade.ts";
import { registerVersion } from "./version.ts";

/**
 * The command line. Each command is declared in a file of its own, which imports what it works with only when it runs,
 * so that `simulate` (started for every poll of the demo) and `version` load nothing of the daemon.
 */
export function createProgram(io: CommandIo): Command {
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
  registerServe(program, io);
  registerDemo(program, io);
  registerInit(program, io);
  registerCheck(program, io);
  registerProbe(program, io);
  registerParse(program, io);
  registerKeys(program, io);
  registerNotify(program, io);
  program.addCommand(simulateCommand(io).copyInheritedSettings(program));
  registerExport(program, io);
  registerImport(program, io);
  registerInstall(program, io);
  registerUpgrade(program, io);
  registerUninstall(program, io);
  registerBackup(program, io);
  registerRestore(program, io);
  registerOpenapi(program, io);
  registerVersion(program, io);
  return program;
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
    const program = createProgram(io);
    if (args.length === 0) return program.help({ error: true });
    await program.parseAsync(args, { from: "user" });
  } catch (error) {
    if (error instanceof CommanderError) {
      // The message has been written.
      io.exitCode(error.exitCode === 0 ? 0 : EXIT_USAGE);
      return;
    }
    io.err(`licmond: ${error instanceof Error ? error.message : String(error)}\n`);
    if (io.env.LICMOND_LOG_LEVEL === "debug" && error instanceof Error) io.err(`${error.stack ?? ""}\n`);
    io.exitCode(EXIT_FAILURE);
  }
}
