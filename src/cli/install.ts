import { statSync } from "node:fs";
import type { Command } from "commander";
import { loadConfig } from "../config/load.ts";
import { escapeControls } from "../domain/plain-text.ts";
import { createHost, type Host, kindOf } from "../install/host.ts";
import { install } from "../install/install.ts";
import { LAYOUT, UNIT_NAME } from "../install/layout.ts";
import { lockInstallation, lockPath } from "../install/lock.ts";
import { textOf } from "../install/ownership.ts";
import { createPass, type Finding, type Pass, StepError, type Verb } from "../install/pass.ts";
import { hasProgram, isSystemdHost, serviceState, systemRun } from "../install/service.ts";
import { INITIAL_CONFIG } from "./init.ts";
import { type CommandIo, configOption, EXIT_FAILURE, EXIT_USAGE, Failure, problemLines } from "./io.ts";

interface InstallOptions {
  readonly dryRun?: true;
  readonly start?: true;
  readonly systemd: boolean;
  readonly root?: string;
}

/** `licmond install`: the running binary as a service of this host. */
export function define(command: Command, io: CommandIo): void {
  command
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
    .action((options: InstallOptions) => runInstall(options, command, io));
}

async function runInstall(options: InstallOptions, command: Command, io: CommandIo): Promise<void> {
  const { start = false, dryRun = false } = options;
  const withoutSystemd = !options.systemd;
  if (start && (withoutSystemd || options.root !== undefined))
    return command.error("licmond: --start goes neither with --root nor with --no-systemd", {
      exitCode: EXIT_USAGE,
    });
  if (!Bun.isStandaloneExecutable)
    throw new Failure(
      "only the licmond binary can install itself, not its sources; `bun run build` makes it",
    );
  const host = await hostFor(options.root ?? null, !withoutSystemd, command, io);
  refusePackaged(host);
  const wanted = {
    binary: process.execPath,
    version: io.build.version,
    configText: await configText(configOption(command), io),
    withoutSystemd,
    start,
    has: hasProgram,
  };
  const { outcome } = await runVerb((pass) => install(pass, host, wanted), host, dryRun, false, io);
  if (outcome === "unchanged") io.out("Nothing to do: all is installed.\n");
  else if (outcome === "failed") io.err(GOES_ON);
  else if (outcome === "changed")
    io.out(await nextSteps(host, withoutSystemd, start, (io.env.PATH ?? "").split(":")));
}

async function configText(file: string | undefined, io: CommandIo): Promise<string> {
  if (file === undefined) return INITIAL_CONFIG;
  // Variables of the caller's environment are not set for the service.
  const loaded = loadConfig(file, {});
  for (const line of await problemLines(loaded)) io.err(`${escapeControls(line)}\n`);
  if (!loaded.ok) throw new Failure("the config cannot be used: nothing was changed");
  return Bun.file(file).text();
}

/** What an administrator does after an installation. */
async function nextSteps(host: Host, withoutSystemd: boolean, started: boolean, path: readonly string[]) {
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

/** The host to work on, where this user may; ends the command where not. */
export async function hostFor(
  root: string | null,
  needsSystemd: boolean,
  command: Command,
  io: CommandIo,
): Promise<Host> {
  const uid = process.geteuid?.();
  if (process.platform !== "linux" || uid === undefined)
    throw new Failure("it works on Linux only; elsewhere `licmond serve` runs the daemon in the foreground");
  const host = createHost(root, uid, systemRun());
  if (root !== null && host.root !== null) {
    const wrong = whyNoRoot(root, host.root);
    if (wrong !== null) command.error(`licmond: ${escapeControls(wrong)}`, { exitCode: EXIT_USAGE });
    if (uid !== 0) io.err("licmond: not root: all files below --root will be owned by this user\n");
    return host;
  }
  if (uid !== 0) throw new Failure("it changes the system and needs root: run it with sudo");
  if (needsSystemd && !(await isSystemdHost(host.run)))
    throw new Failure(
      "this host is not run by systemd; `--no-systemd` handles the binary and the config alone, `--root` an image",
    );
  return host;
}

function whyNoRoot(given: string, root: string): string | null {
  // A script whose variable is not set: it would mean the present directory.
  if (given === "") return "--root takes a directory, and got an empty word";
  if (root === "/") return "--root / is this host itself; leave --root away";
  const isOther = statSync(root, { throwIfNoEntry: false })?.isDirectory() === false;
  return isOther ? `--root ${root} is not a directory` : null;
}

/** Paragraphs of dpkg's database: a package that was removed keeps one, with another status. */
function isDpkgs(paragraph: string): boolean {
  return /^Package: licmond$/m.test(paragraph) && /^Status: \S+ \S+ installed$/m.test(paragraph);
}

/** Ends the command where a package manager looks after licmond. */
export function refusePackaged(host: Host): void {
  if (textOf(host.at("/var/lib/dpkg/status")).split("\n\n").some(isDpkgs))
    throw new Failure(
      "licmond is installed as a Debian package; use apt: `apt install ./licmond_VERSION.deb` upgrades it, `apt remove licmond` removes it, `apt purge licmond` with config and data",
    );
  if (kindOf(host.at("/usr/bin/licmond")) !== "missing")
    throw new Failure(
      "/usr/bin/licmond is there, so a package has installed licmond; use the package manager, or remove the package first",
    );
}

/** Where the installed config has the database; null when the config cannot be read. */
export function storageOf(host: Host): string | null {
  const loaded = loadConfig(host.at(LAYOUT.config), {});
  return loaded.ok ? loaded.config.storage.directory : null;
}

/** For commands that can simply be run again. */
export const GOES_ON = "  What is listed as done stays done; the same command goes on from there.\n";

/**
 * Looks at every step of a verb, then does them unless one refuses or it is a dry run: one line each on stdout, with
 * `brief` none for steps that have nothing to do. `pass` is the one that came last: it says what was changed.
 * What `failed` has been said, with an exit code. Rejects with a Failure where a step refuses.
 */
export async function runVerb(
  verb: Verb,
  host: Host,
  dryRun: boolean,
  brief: boolean,
  io: CommandIo,
): Promise<{ readonly outcome: "changed" | "unchanged" | "planned" | "failed"; readonly pass: Pass }> {
  const print = (doing: "would" | "done") => (finding: Finding) => {
    if (!brief || finding.kind !== "nothing") io.out(lineOf(finding, doing));
  };
  const look = createPass(false);
  await verb(look);
  refuseWith(look, io);
  if (dryRun || !look.hasWork()) {
    look.found.forEach(print(dryRun ? "would" : "done"));
    if (dryRun) io.out("Nothing was changed.\n");
    return { outcome: dryRun ? "planned" : "unchanged", pass: look };
  }
  const locked = lockInstallation(lockPath(host));
  if ("holder" in locked)
    throw new Failure(
      `another licmond (process ${locked.holder}) is at work on this installation: nothing was changed`,
    );
  const act = createPass(true, print("done"));
  try {
    await verb(act);
    // The process that held the lock until now may have done it all.
    return { outcome: act.hasWork() ? "changed" : "unchanged", pass: act };
  } catch (error) {
    if (!(error instanceof StepError)) throw error;
    io.err(`licmond: ${lines(error.message)}\n`);
    io.exitCode(EXIT_FAILURE);
    return { outcome: "failed", pass: act };
  } finally {
    locked.release();
  }
}

/** Prints why steps refuse, if any do, and ends the command. */
function refuseWith({ found }: Pass, io: CommandIo): void {
  const refusals = found.filter((each) => each.kind === "refuse");
  if (refusals.length === 0) return;
  // Several steps may meet the same hindrance.
  const texts = new Set(
    refusals.map(({ words, advice }) => `licmond: ${lines(words)}\n  fix: ${lines(advice ?? "")}\n`),
  );
  for (const text of texts) io.err(text);
  throw new Failure("nothing was changed");
}

/** Words of several lines, each made harmless, all but the first indented. */
export function lines(text: string): string {
  return text.split("\n").map(escapeControls).join("\n    ");
}

function lineOf({ subject, kind, words, advice }: Finding, doing: "would" | "done"): string {
  const mark = { nothing: "ok", do: doing, keep: "kept", refuse: "no" }[kind];
  return `${mark.padEnd(6)} ${subject}: ${lines(words)}\n${advice === null ? "" : `       ${lines(advice)}\n`}`;
}
