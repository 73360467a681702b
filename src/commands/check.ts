import { type Command, InvalidArgumentError, Option } from "commander";
import { configOption, countOf, problemLines, readConfig, withConfigOption } from "./config-option.ts";
import { type CommandIo, EXIT_FAILURE, fail } from "./io.ts";
import { createReport } from "./report.ts";

/** `licmond check`: everything that would go wrong in the first week, before it does. */
export function registerCheck(program: Command, io: CommandIo): void {
  withConfigOption(program.command("check"))
    .description(
      "Checks the config, the tools, the storage directory, the port, and the license servers: names, answers, clocks.",
    )
    .option("--config-only", "look at nothing but what a reload would refuse; prints problems only")
    .option("--no-poll", "do not ask the license servers")
    .option(
      "--unit <file>",
      "try in this unit's sandbox, instead of the installed one's, what the service can reach",
    )
    .addOption(new Option("--trial", "what a copy of the unit runs").hideHelp())
    .option("--alerts", "say instead what each alert rule would have done over the stored history")
    .option("--days <days>", "with --alerts: how far back", days, 30)
    .addHelpText(
      "after",
      `
Run it as root where licmond is a service: it then starts a copy of the unit, which tries as the service's user, inside its
sandbox, what the config names. Elsewhere as the user that runs the daemon. Exit codes: 0 all well, 1 with every problem.

Examples:
  sudo licmond check
  sudo licmond check --alerts --days 90`,
    )
    .action(
      async (
        options: {
          configOnly?: true;
          poll: boolean;
          unit?: string;
          trial?: true;
          alerts?: true;
          days: number;
        },
        command: Command,
      ) => {
        if (options.trial === true) return (await import("./unit-trial.ts")).answerTrial(io);
        if (options.configOnly === true) return checkConfigOnly(command, io);
        if (options.alerts === true) return tryAlerts(options.days, command, io);
        const { loadConfig } = await import("../config/find.ts");
        const loaded = loadConfig(configOption(command), io.env);
        const report = createReport(io);
        for (const warning of loaded.warnings) report.warning("config", warning);
        if (!loaded.ok) {
          for (const line of await problemLines(loaded)) report.problem("config", line, null);
        } else {
          const { config, file } = loaded;
          report.fine("config", file ?? "none: the defaults hold (licmond init writes one)");
          if (config.servers.length === 0) report.warning("config", "no server is configured");
          const { checkNames } = await import("./check-names.ts");
          await checkNames(config, report);
          const { checkExposed, checkHost } = await import("./check-host.ts");
          await checkHost(config, io.env, report);
          checkExposed(config, file, io.env, report);
          const { checkExport } = await import("./check-export.ts");
          await checkExport(config, report);
          if (options.poll) {
            const { checkPolls } = await import("./check-polls.ts");
            await checkPolls(config, io.env, io.now(), report);
          }
          const { checkAges } = await import("./check-ages.ts");
          await checkAges(config, io.now(), report);
          const { checkUnit } = await import("./check-unit.ts");
          await checkUnit(config, file, options.unit, io, report);
        }
        const count = report.problems();
        io.out(count === 0 ? "All is well.\n" : `${countOf(count, "problem")}.\n`);
        if (count > 0) io.exitCode(EXIT_FAILURE);
      },
    );
}

/** `systemctl reload` asks this first: a config that it passes is one that the running daemon takes. */
async function checkConfigOnly(command: Command, io: CommandIo): Promise<void> {
  const found = await readConfig(command, io);
  if (found === null) return;
  // systemd tells ExecReload= which daemon is meant: one that has a config would refuse to go on without.
  if (found.file === null && io.env.MAINPID !== undefined) {
    const { DEFAULT_CONFIG_FILE } = await import("../config/find.ts");
    return fail(io, `there is no config file ${DEFAULT_CONFIG_FILE}: the daemon goes on as it is`);
  }
  if (found.config.http.tls === null) return;
  const { credentialOfPath } = await import("../config/credentials.ts");
  const { cert, key } = found.config.http.tls;
  // What the unit hands over stays what it was when the service started, and is hidden from this command.
  if ([cert, key].some((path) => credentialOfPath(path, io.env) !== null)) return;
  const { readTls } = await import("../http/tls.ts");
  try {
    readTls({ cert, key });
  } catch (error) {
    fail(io, error instanceof Error ? error.message : String(error));
  }
}

async function tryAlerts(days: number, command: Command, io: CommandIo): Promise<void> {
  const found = await readConfig(command, io);
  if (found === null) return;
  if (found.config.servers.length === 0)
    return fail(io, "the config names no server: there is nothing that a rule could have told of");
  const { checkAlerts } = await import("./check-alerts.ts");
  const { StoreError } = await import("../store/store-error.ts");
  try {
    await checkAlerts(found.config, days, io);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    fail(io, `${error.message}. ${error.fix}`);
  }
}

const MAX_DAYS = 3650;

function days(text: string): number {
  const value = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (value >= 1 && value <= MAX_DAYS) return value;
  throw new InvalidArgumentError(`It takes a whole number of days from 1 to ${MAX_DAYS}.`);
}
