import { type Command, InvalidArgumentError, Option } from "commander";
import type { Config } from "../../config/config.ts";
import { credentialOfPath } from "../../config/credentials.ts";
import { DEFAULT_CONFIG_FILE, loadConfig } from "../../config/load.ts";
import { readTls } from "../../http/tls.ts";
import {
  type CommandIo,
  configOption,
  countOf,
  EXIT_FAILURE,
  Failure,
  problemLines,
  readConfig,
} from "../io.ts";
import { createReport, type Report } from "../terminal.ts";
import { checkAlerts } from "./alerts.ts";
import { checkExposed, checkHost } from "./host.ts";
import { checkExport } from "./network.ts";
import { checkPolls } from "./polls.ts";
import { checkAges, checkNames } from "./stored.ts";
import { checkUnit } from "./unit.ts";
import { answerTrial } from "./unit-trial.ts";

interface CheckOptions {
  readonly configOnly?: true;
  readonly poll: boolean;
  readonly unit?: string;
  readonly trial?: true;
  readonly alerts?: true;
  readonly days: number;
}

/** `licmond check`: everything that would go wrong in the first week, before it does. */
export function define(command: Command, io: CommandIo): void {
  command
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
    .action((options: CheckOptions) => {
      if (options.trial === true) return answerTrial(io);
      if (options.configOnly === true) return checkConfigOnly(command, io);
      if (options.alerts === true) return tryAlerts(options.days, command, io);
      return checkAll(options, command, io);
    });
}

async function checkAll({ poll, unit }: CheckOptions, command: Command, io: CommandIo): Promise<void> {
  const loaded = loadConfig(configOption(command), io.env);
  const report = createReport(io);
  for (const warning of loaded.warnings) report.warning("config", warning);
  if (loaded.ok) await checkConfig(loaded.config, loaded.file, poll, unit, report, io);
  else for (const line of await problemLines(loaded)) report.problem("config", line, null);
  const count = report.problems();
  io.out(count === 0 ? "All is well.\n" : `${countOf(count, "problem")}.\n`);
  if (count > 0) io.exitCode(EXIT_FAILURE);
}

async function checkConfig(
  config: Config,
  file: string | null,
  polls: boolean,
  unitFile: string | undefined,
  report: Report,
  io: CommandIo,
): Promise<void> {
  report.fine("config", file ?? "none: the defaults hold (licmond init writes one)");
  if (config.servers.length === 0) report.warning("config", "no server is configured");
  await checkNames(config, report);
  await checkHost(config, io.env, report);
  checkExposed(config, file, io.env, report);
  await checkExport(config, report);
  if (polls) await checkPolls(config, io.env, io.now(), report);
  await checkAges(config, io.now(), report);
  await checkUnit(config, file, unitFile, io, report);
}

/** `systemctl reload` asks this first: a config that it passes is one that the running daemon takes. */
async function checkConfigOnly(command: Command, io: CommandIo): Promise<void> {
  const { config, file } = await readConfig(command, io);
  // systemd tells ExecReload= which daemon is meant: one that has a config would refuse to go on without.
  if (file === null && io.env.MAINPID !== undefined)
    throw new Failure(`there is no config file ${DEFAULT_CONFIG_FILE}: the daemon goes on as it is`);
  if (config.http.tls === null) return;
  const { cert, key } = config.http.tls;
  // What the unit hands over stays what it was when the service started, and is hidden from this command.
  if ([cert, key].some((path) => credentialOfPath(path, io.env) !== null)) return;
  readTls({ cert, key });
}

async function tryAlerts(days: number, command: Command, io: CommandIo): Promise<void> {
  const { config } = await readConfig(command, io);
  if (config.servers.length === 0)
    throw new Failure("the config names no server: there is nothing that a rule could have told of");
  await checkAlerts(config, days, io);
}

const MAX_DAYS = 3650;

function days(text: string): number {
  const value = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (value >= 1 && value <= MAX_DAYS) return value;
  throw new InvalidArgumentError(`It takes a whole number of days from 1 to ${MAX_DAYS}.`);
}
