import { credentialOfPath } from "../../config/credentials.ts";
import { DEFAULT_CONFIG_FILE, loadConfig } from "../../config/load.ts";
import { readTls } from "../../http/tls.ts";
import { command, flag, integer, optionOr, text } from "../command.ts";
import { type CommandIo, Failure, problemLines, readConfig } from "../io.ts";
import { createReport } from "../terminal.ts";
import { checkAlerts } from "./alerts.ts";
import { checkExposed, checkFiles, checkNames, checkStorage } from "./files.ts";
import { checkFleet, checkHub } from "./fleet.ts";
import { checkManagers } from "./managers.ts";
import { checkExport, checkListening } from "./network.ts";
import { checkAges, checkHosts, checkPolls, checkTools } from "./servers.ts";
import { checkUnit } from "./unit.ts";
import { answerTrial } from "./unit-trial.ts";

const MAX_DAYS = 3650;
const DAYS = integer(1, MAX_DAYS, `It takes a whole number of days from 1 to ${MAX_DAYS}.`);

const UNIT = "try what the service can reach in this unit's sandbox, not in that of the installed unit";

/** `licmond check`: everything that would go wrong in the first week, before it does. */
export const check = command({
  options: {
    "config-only": flag("look at nothing but what a reload would refuse; prints problems only"),
    "no-poll": flag("do not ask the license servers"),
    unit: text("<file>", UNIT),
    trial: { ...flag("what a copy of the unit runs"), isHidden: true },
    alerts: flag("show only what each alert rule would have done over the stored history"),
    days: optionOr("<days>", "with --alerts: how far back", DAYS, 30),
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
      report.fine("config", file ?? "none: the defaults hold (licmond init writes one)");
      if (config.servers.length === 0 && config.hub === null)
        report.warning("config", "no server is configured");
      const look = { config, file, env: io.env, now: io.now(), report };
      await checkNames(look);
      // A hub keeps nothing on its own disk.
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
    report.end("All is well.\n");
  },
});

/** `systemctl reload` asks this first: a config that it passes is one that the running daemon takes. */
async function checkConfigOnly(named: string | undefined, io: CommandIo): Promise<void> {
  const { config, file } = await readConfig(named, io);
  // systemd names the daemon to ExecReload= (MAINPID): one that has a config would refuse to go on without.
  if (file === null && io.env.MAINPID !== undefined)
    throw new Failure(`there is no config file ${DEFAULT_CONFIG_FILE}: the daemon goes on as it is`);
  if (config.http.tls === null) return;
  const { tls } = config.http;
  // What the unit hands over stays what it was when the service started, and is hidden from this command.
  if (Object.values(tls).some((path) => credentialOfPath(path, io.env) !== null)) return;
  readTls(tls);
}
