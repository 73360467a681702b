import { realpathSync } from "node:fs";
import type { Command } from "commander";
import type { Host } from "../install/host.ts";
import type { UpgradeWanted } from "../install/upgrade-steps.ts";
import { withConfigOption } from "./config-option.ts";
import { type CommandIo, EXIT_FAILURE, EXIT_USAGE, fail } from "./io.ts";

interface UpgradeOptions {
  readonly allowDowngrade?: true;
  readonly rollback?: true;
  readonly dryRun?: true;
}

/** `licmond upgrade [FILE]`: another binary in the place of the installed one, and back when it does not start. */
export function registerUpgrade(program: Command, io: CommandIo): void {
  withConfigOption(program.command("upgrade"))
    .description("Replaces the installed binary, restarts the service, and goes back when that fails.")
    .argument("[file]", "the new binary (default: the one that runs this command)")
    .option(
      "--allow-downgrade",
      "take an older version too; it refuses a database that a newer one has changed",
    )
    .option("--rollback", "back to the binary that the last upgrade replaced")
    .option("--dry-run", "print every step and change nothing")
    .addHelpText(
      "after",
      `
Nothing is fetched: download the new binary first. It must run on this host and take the config before the old one is
stopped. A service that runs is restarted, and waited for until it answers; if it does not, the old binary comes back.
The replaced one stays as /usr/local/bin/licmond.previous. Exit codes: 0 upgraded, 1 refused or failed, 2 usage.

Examples:
  sudo ./licmond upgrade                 # the one just downloaded
  sudo licmond upgrade ./licmond-1.2.0
  sudo licmond upgrade --rollback`,
    )
    .action((file: string | undefined, options: UpgradeOptions, command: Command) =>
      upgrade(file, options, command, io),
    );
}

async function upgrade(
  named: string | undefined,
  options: UpgradeOptions,
  command: Command,
  io: CommandIo,
): Promise<void> {
  const { LAYOUT } = await import("../install/layout.ts");
  const { hostFor, isPackaged } = await import("./install-host.ts");
  const { kindOf } = await import("../install/host.ts");
  const { isSystemdHost, serviceState } = await import("../install/service.ts");
  const { upgradeSteps } = await import("../install/upgrade-steps.ts");
  const { lockPath } = await import("../install/lock.ts");
  const { runSteps } = await import("./step-output.ts");

  const { allowDowngrade = false, rollback = false, dryRun = false } = options;
  if (rollback && named !== undefined)
    return command.error("licmond: --rollback takes no file: it goes back to the previous one", {
      exitCode: EXIT_USAGE,
    });
  const wanted = rollback ? LAYOUT.previousBinary : (named ?? runningBinary());
  if (wanted === null || (named === undefined && wanted === LAYOUT.binary))
    return command.error(`licmond: ${LAYOUT.binary} itself runs this: name the new binary`, {
      exitCode: EXIT_USAGE,
    });
  const host = await hostFor(null, { needsSystemd: false }, io);
  if (host === null || isPackaged(host, io)) return;
  const file = found(wanted);
  if (file === null || kindOf(file) !== "file")
    return fail(
      io,
      rollback
        ? `there is no ${wanted}: nothing was upgraded yet`
        : `${wanted} is not a file that can be read`,
    );
  const hasService = kindOf(host.at(LAYOUT.unit)) === "file" && (await isSystemdHost(host.run));
  const runs = hasService && (await serviceState(host.run)).isActive;
  const service = runs ? "runs" : hasService ? "stopped" : "none";
  const steps = upgradeSteps(host, { file, allowDowngrade: allowDowngrade || rollback, service });
  const { outcome, done } = await runSteps(steps, { dryRun, lock: lockPath(host) }, io);
  if (outcome === "planned") io.out("Nothing was changed.\n");
  else if (outcome === "unchanged") io.out("Nothing to do: it is installed already.\n");
  else if (outcome === "changed")
    io.out(
      `${rollback ? "Went back" : "Upgraded"}${hasService ? "" : "; restart what runs the other one"}.\n`,
    );
  else if (outcome === "failed" && done.has(LAYOUT.binary)) await undo(host, service, io);
  // It fails before anything is in another's place, e.g. for want of room.
  else if (outcome === "failed") io.err("licmond: the installed version is as it was, and was not stopped\n");
}

/** The binary of this process; null when licmond runs from its sources. */
function runningBinary(): string | null {
  return Bun.isStandaloneExecutable ? process.execPath : null;
}

function found(file: string): string | null {
  try {
    return realpathSync(file);
  } catch {
    return null;
  }
}

/** After a step that failed: the old binary again. */
async function undo(host: Host, service: UpgradeWanted["service"], io: CommandIo): Promise<void> {
  const { lines } = await import("./step-output.ts");
  const { goBack } = await import("../install/upgrade-steps.ts");
  try {
    await goBack(host, service);
    const running = service === "runs" ? ", which runs again" : "";
    io.err(`licmond: went back to the version from before${running}\n`);
  } catch (error) {
    io.exitCode(EXIT_FAILURE);
    io.err(
      `licmond: going back failed too: ${lines(error instanceof Error ? error.message : String(error))}
  If the database was migrated meanwhile, the older version refuses it: \`licmond restore\` puts the copy from before the migration, licmond.db.schema-* beside it, in its place.\n`,
    );
  }
}
