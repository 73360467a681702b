import type { Command } from "commander";
import { escapeControls } from "../domain/plain-text.ts";
import { configOption, problemLines, withConfigOption } from "./config-option.ts";
import { type CommandIo, EXIT_USAGE, fail } from "./io.ts";

interface InstallOptions {
  readonly dryRun?: true;
  readonly start?: true;
  readonly systemd: boolean;
  readonly root?: string;
}

/** `licmond install`: the running binary as a service of this host. */
export function registerInstall(program: Command, io: CommandIo): void {
  withConfigOption(program.command("install"))
    .description("Installs this binary as a systemd service, with a user of its own and a config to fill in.")
    .option("--dry-run", "print every step and change nothing")
    .option("--start", "start the service too, now and at every boot")
    .option("--no-systemd", "the binary and the config alone, for hosts without systemd")
    .option("--root <dir>", "lay the files below a directory and run nothing, for images and packages")
    .addHelpText(
      "after",
      `
What it lays down:
  /usr/local/bin/licmond                 this binary
  /etc/systemd/system/licmond.service    the unit; changes belong into a drop-in: systemctl edit licmond
  /etc/sysusers.d/licmond.conf           the user licmond
  /etc/tmpfiles.d/licmond.conf           the owners of its directories
  /etc/licmond/licmond.toml              a commented config, or the one that --config names, when there is none
  /var/lib/licmond                       the database's directory

It can be run again at any time: what is as it should be stays, and so does what you have changed. What is not from
licmond is never written over; then nothing at all is done. Exit codes: 0 installed, 1 refused or failed.

Examples:
  sudo ./licmond install --dry-run
  sudo ./licmond install
  sudo ./licmond install --config ./licmond.toml --start
  ./licmond install --root ./image`,
    )
    .action(async (options: InstallOptions, command: Command) => install(options, command, io));
}

async function install(options: InstallOptions, command: Command, io: CommandIo): Promise<void> {
  const { INITIAL_CONFIG } = await import("./initial-config.ts");
  const { hostFor, isPackaged } = await import("./install-host.ts");
  const { installSteps } = await import("../install/install-steps.ts");
  const { hasProgram } = await import("../install/this-host.ts");
  const { lockPath } = await import("../install/lock.ts");
  const { GOES_ON, runSteps } = await import("./step-output.ts");

  const withoutSystemd = !options.systemd;
  const config = configOption(command) ?? null;
  if (options.start === true && (withoutSystemd || options.root !== undefined))
    return command.error("licmond: --start goes neither with --root nor with --no-systemd", {
      exitCode: EXIT_USAGE,
    });
  if (!Bun.isStandaloneExecutable)
    return fail(io, "only the licmond binary can install itself, not its sources; `bun run build` makes it");
  const host = await hostFor(options.root ?? null, { needsSystemd: !withoutSystemd }, io);
  if (host === null) return;
  if (isPackaged(host, io)) return;
  let configText = INITIAL_CONFIG;
  if (config !== null) {
    const { loadConfig } = await import("../config/find.ts");
    // What is set in the environment of who installs is not set for the service.
    const loaded = loadConfig(config, {});
    for (const line of await problemLines(loaded)) io.err(`${escapeControls(line)}\n`);
    if (!loaded.ok) return fail(io, "the config cannot be used: nothing was changed");
    configText = await Bun.file(config).text();
  }
  const steps = installSteps(host, {
    binary: { path: process.execPath, version: io.build.version },
    configText,
    withoutSystemd,
    start: options.start === true,
    has: hasProgram,
  });
  const { outcome } = await runSteps(steps, { dryRun: options.dryRun === true, lock: lockPath(host) }, io);
  if (outcome === "planned") return io.out("Nothing was changed.\n");
  if (outcome === "unchanged") return io.out("Nothing to do: all is installed.\n");
  if (outcome === "failed") return io.err(GOES_ON);
  if (outcome !== "changed") return;
  const { nextSteps } = await import("./install-next.ts");
  io.out(await nextSteps(host, { withoutSystemd, started: options.start === true, path: io.env.PATH ?? "" }));
}
