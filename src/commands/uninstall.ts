import type { Command } from "commander";
import type { Pass } from "../install/pass.ts";
import { withConfigOption } from "./config-option.ts";
import { type CommandIo, EXIT_USAGE, fail } from "./io.ts";

interface UninstallOptions {
  readonly dryRun?: true;
  readonly purge?: true;
  readonly force?: true;
  readonly yes?: true;
  readonly root?: string;
}

/** `licmond uninstall`: takes away what `install` laid down. */
export function registerUninstall(program: Command, io: CommandIo): void {
  withConfigOption(program.command("uninstall"))
    .description("Stops the service and removes what install laid down. Config, data and user stay.")
    .option("--purge", "delete config, data and user too; asks first")
    .option("--yes", "with --purge: do not ask")
    .option("--force", "remove unit, sysusers and tmpfiles also when they were changed by hand")
    .option("--dry-run", "print every step and change nothing")
    .option("--root <dir>", "remove the files below a directory and run nothing")
    .addHelpText(
      "after",
      `
Whatever stays is named, with the command that deletes it. Exit codes: 0 removed, 1 refused or failed, 2 usage.

Examples:
  sudo licmond uninstall --dry-run
  sudo licmond uninstall
  sudo licmond uninstall --purge`,
    )
    .action((options: UninstallOptions) => runUninstall(options, io));
}

async function runUninstall(options: UninstallOptions, io: CommandIo): Promise<void> {
  const { hostFor, isPackaged, storageOf } = await import("./install-host.ts");
  const { kindOf } = await import("../install/host.ts");
  const { LAYOUT } = await import("../install/layout.ts");
  const { isSystemdHost } = await import("../install/service.ts");
  const { uninstall } = await import("../install/uninstall.ts");
  const { lockPath } = await import("../install/lock.ts");
  const { GOES_ON, runVerb } = await import("./step-output.ts");

  const { dryRun = false, purge = false, force = false, yes = false } = options;
  const host = await hostFor(options.root ?? null, false, io);
  if (host === null) return;
  // A package looks after its own, config and data with it; what `install` left beside it may go.
  const isInstalled = [LAYOUT.binary, LAYOUT.unit].some((path) => kindOf(host.at(path)) !== "missing");
  if ((purge || !isInstalled) && isPackaged(host, io)) return;
  const storage = storageOf(host);
  const otherData = storage === LAYOUT.data ? null : storage;
  if (purge && !yes && !dryRun && !(await isConfirmed(host.root, io))) return;
  const withSystemd = host.root === null && (await isSystemdHost(host.run));
  const wanted = { purge, force, withSystemd, otherData };
  const verb = (pass: Pass) => uninstall(pass, host, wanted);
  const { outcome } = await runVerb(verb, lockPath(host), dryRun, true, io);
  if (outcome === "planned") io.out("Nothing was changed.\n");
  else if (outcome === "unchanged")
    io.out("Nothing to do: nothing of licmond is left that uninstall removes.\n");
  else if (outcome === "failed") io.err(GOES_ON);
  else if (outcome === "changed") io.out("licmond is removed.\n");
}

/** Asks a person; where there is none, `--yes` must have said it. */
async function isConfirmed(root: string | null, io: CommandIo): Promise<boolean> {
  if (!io.terminal.out || !process.stdin.isTTY) {
    io.err(
      "licmond: --purge deletes config, history and keys for good: say --yes where nobody can be asked\n",
    );
    io.exitCode(EXIT_USAGE);
    return false;
  }
  const where = root === null ? "on this host" : `below ${root}`;
  await io.flushed();
  const answer = prompt(
    `Config, history, keys and user of licmond ${where} will be deleted for good. Type "delete" to go on:`,
  );
  if (answer?.trim() === "delete") return true;
  fail(io, "nothing was changed");
  return false;
}
