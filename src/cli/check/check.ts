import { credentialOfPath } from "../../config/credentials.ts";
import { DEFAULT_CONFIG_FILE, loadConfig } from "../../config/load.ts";
import { readTls } from "../../http/tls.ts";
import { command, flag, integer, optionOr, text } from "../command.ts";
import { type CommandIo, Failure, problemLines, readConfig } from "../io.ts";
import { createReport } from "../terminal.ts";
import { checkAlerts } from "./alerts.ts";
import { checkExposed, checkFiles, checkNames, checkStorage } from "./files.ts";
import { checkExport, checkFleet, checkHub, checkListening } from "./network.ts";
import { checkAges, checkHosts, checkManagers, checkPolls, checkTools } from "./servers.ts";
import { checkUnit } from "./unit.ts";
import { answerTrial } from "./unit-trial.ts";

const MAX_DAYS = 3650;
const DAYS = integer(1, MAX_DAYS, `Expected a whole number of days from 1 to ${MAX_DAYS}.`);

const UNIT = "test in the sandbox of this unit file instead of the installed unit";

export const check = command({
  options: {
    "config-only": flag("check only for mistakes that a reload rejects; print only problems"),
    "no-poll": flag("do not poll the license servers"),
    unit: text("<file>", UNIT),
    trial: { ...flag("command that the copy of the unit runs"), isHidden: true },
    alerts: flag("only replay the alert rules over the stored history"),
    days: optionOr("<days>", "with --alerts: days to look back", DAYS, 30),
    json: flag("with --alerts: each firing as JSON"),
  },
  async run({ options, config: named }, io) {
    if (options.trial) return answerTrial(io);
    if (options["config-only"]) return checkConfigOnly(named, io);
    if (options.alerts) return checkAlerts(named, options.days, options.json, io);
    const loaded = loadConfig(named, io.env);
    const report = createReport(io);
    for (const warning of loaded.warnings) report.warning("config", warning);
    for (const line of await problemLines(loaded)) report.problem("config", line, null);
    if (loaded.ok) {
      const { config, file } = loaded;
      report.fine("config", file ?? "no config file: using defaults (licmond init writes one)");
      if (config.servers.length === 0 && config.hub === null)
        report.warning("config", "no servers configured");
      const look = { config, file, env: io.env, now: io.now(), report };
      await checkNames(look);
      // A hub stores nothing on its own disk.
      if (config.hub === null) checkStorage(look);
      await checkListening(look);
      checkFiles(look);
      await checkManagers(look);
      checkTools(look);
      await checkHosts(look);
      checkExposed(look);
      await checkExport(look);
      await checkFleet(look);
      await checkHub(look);
      if (!options["no-poll"]) await checkPolls(look);
      await checkAges(look);
      await checkUnit(look, options.unit, io.out);
    }
    report.end("No problems found.\n");
  },
});

/** Checks the config before `systemctl reload`. The running daemon accepts any config that passes. */
async function checkConfigOnly(named: string | undefined, io: CommandIo): Promise<void> {
  const { config, file } = await readConfig(named, io);
  // systemd sets MAINPID for ExecReload=. A running daemon that has a config would reject a reload with the
  // file missing.
  if (file === null && io.env.MAINPID !== undefined)
    throw new Failure(`config file ${DEFAULT_CONFIG_FILE} not found: the daemon keeps its current config`);
  if (config.http.tls === null) return;
  const { tls } = config.http;
  // Skip credentials, because they are fixed when the service starts, and this command cannot read them.
  if (Object.values(tls).some((path) => credentialOfPath(path, io.env) !== null)) return;
  readTls(tls);
}
