import type { Command } from "commander";
import { kindOf } from "../install/host.ts";
import { LAYOUT } from "../install/layout.ts";
import { isSystemdHost } from "../install/service.ts";
import { uninstall } from "../install/uninstall.ts";
import { GOES_ON, hostFor, refuse, refusePackaged, runVerb, storageOf } from "./install.ts";
import { type CommandIo, Failure } from "./io.ts";

interface UninstallOptions extends Partial<Record<"dryRun" | "purge" | "force" | "yes", true>> {
  readonly root?: string;
}

/** `licmond uninstall`: takes away what `install` laid down. */
export function define(command: Command, io: CommandIo): void {
  command
    .option("--purge", "delete config, data and user too; asks first")
    .option("--yes", "with --purge: do not ask")
    .option("--force", "remove unit, sysusers and tmpfiles also when they were changed by hand")
    .option("--dry-run", "print every step and change nothing")
    .option("--root <dir>", "remove the files below a directory and run nothing")
    .action((options: UninstallOptions) => runUninstall(options, command, io));
}

async function runUninstall(options: UninstallOptions, command: Command, io: CommandIo): Promise<void> {
  const { dryRun = false, purge = false, force = false, yes = false } = options;
  const host = await hostFor(options.root ?? null, false, command, io);
  // A package looks after its own, config and data with it; what `install` left beside it may go.
  const isInstalled = [LAYOUT.binary, LAYOUT.unit].some((path) => kindOf(host.at(path)) !== "missing");
  if (purge || !isInstalled) refusePackaged(host);
  const storage = storageOf(host);
  const otherData = storage === LAYOUT.data ? null : storage;
  if (purge && !yes && !dryRun) await confirmPurge(host.root, command, io);
  const withSystemd = host.root === null && (await isSystemdHost(host.run));
  const wanted = { purge, force, withSystemd, otherData };
  const { outcome } = await runVerb((pass) => uninstall(pass, wanted), host, dryRun, true, io);
  if (outcome === "unchanged") io.out("Nothing to do: nothing of licmond is left that uninstall removes.\n");
  else if (outcome === "failed") io.err(GOES_ON);
  else if (outcome === "changed") io.out("licmond is removed.\n");
}

const UNASKED = "--purge deletes config, history and keys for good: say --yes where nobody can be asked";

/** Asks a person; where there is none, `--yes` must have said it. */
async function confirmPurge(root: string | null, command: Command, io: CommandIo): Promise<void> {
  if (!io.terminal.out || !process.stdin.isTTY) return refuse(command, UNASKED);
  const where = root === null ? "on this host" : `below ${root}`;
  await io.flushed();
  const all = `Config, history, keys and user of licmond ${where}`;
  const answer = prompt(`${all} will be deleted for good. Type "delete" to go on:`);
  if (answer?.trim() !== "delete") throw new Failure("nothing was changed");
}
