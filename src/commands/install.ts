import type { Command } from "commander";
import { escapeControls } from "../domain/plain-text.ts";
import type { Host } from "../install/host.ts";
import type { Pass } from "../install/pass.ts";
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
    .action(async (options: InstallOptions, command: Command) => runInstall(options, command, io));
}

async function runInstall(options: InstallOptions, command: Command, io: CommandIo): Promise<void> {
  const { INITIAL_CONFIG } = await import("./initial-config.ts");
  const { hostFor, isPackaged } = await import("./install-host.ts");
  const { install } = await import("../install/install.ts");
  const { hasProgram } = await import("../install/service.ts");
  const { lockPath } = await import("../install/lock.ts");
  const { GOES_ON, runVerb } = await import("./step-output.ts");

  const { start = false, dryRun = false } = options;
  const withoutSystemd = !options.systemd;
  const config = configOption(command) ?? null;
  if (start && (withoutSystemd || options.root !== undefined))
    return command.error("licmond: --start goes neither with --root nor with --no-systemd", {
      exitCode: EXIT_USAGE,
    });
  if (!Bun.isStandaloneExecutable)
    return fail(io, "only the licmond binary can install itself, not its sources; `bun run build` makes it");
  const host = await hostFor(options.root ?? null, !withoutSystemd, io);
  if (host === null || isPackaged(host, io)) return;
  let configText = INITIAL_CONFIG;
  if (config !== null) {
    const { loadConfig } = await import("../config/find.ts");
    // Variables of the caller's environment are not set for the service.
    const loaded = loadConfig(config, {});
    for (const line of await problemLines(loaded)) io.err(`${escapeControls(line)}\n`);
    if (!loaded.ok) return fail(io, "the config cannot be used: nothing was changed");
    configText = await Bun.file(config).text();
  }
  const wanted = {
    binary: process.execPath,
    version: io.build.version,
    configText,
    withoutSystemd,
    start,
    has: hasProgram,
  };
  const verb = (pass: Pass) => install(pass, host, wanted);
  const { outcome } = await runVerb(verb, lockPath(host), dryRun, false, io);
  if (outcome === "planned") io.out("Nothing was changed.\n");
  else if (outcome === "unchanged") io.out("Nothing to do: all is installed.\n");
  else if (outcome === "failed") io.err(GOES_ON);
  else if (outcome === "changed")
    io.out(await nextSteps(host, withoutSystemd, start, (io.env.PATH ?? "").split(":")));
}

/** What an administrator does after an installation. */
async function nextSteps(host: Host, withoutSystemd: boolean, started: boolean, path: readonly string[]) {
  const { LAYOUT, UNIT_NAME } = await import("../install/layout.ts");
  const { serviceState } = await import("../install/service.ts");
  if (host.root !== null)
    return `Installed below ${host.root}. The system inside gives out the directories when it boots. What it needs besides:
  systemd-sysusers --root=${host.root} licmond.conf    makes the user; a system that never booted does it by itself
  systemctl --root=${host.root} enable licmond         starts the service at every boot
`;
  // sudo's own $PATH does not have /usr/local/bin on every distribution.
  const licmond = path.includes("/usr/local/bin") ? "licmond" : LAYOUT.binary;
  const sudo = withoutSystemd ? "" : "sudo ";
  const isActive = !withoutSystemd && (await serviceState(host.run)).isActive;
  const start = isActive
    ? `let it take effect:         sudo systemctl ${started ? "reload" : "restart"} licmond`
    : `start it, now and at boot:  sudo systemctl enable --now ${UNIT_NAME}`;
  return `
Next:
  1. name your license servers:  sudoedit ${LAYOUT.config}
  2. see what is still wrong:    ${sudo}${licmond} check
  3. ${withoutSystemd ? `run it:                     ${licmond} serve` : start}
  4. make the first key:         ${sudo}${licmond} keys create --name admin --role admin
`;
}
