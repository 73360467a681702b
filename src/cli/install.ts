import { statSync } from "node:fs";
import type { Command } from "commander";
import { loadConfig } from "../config/load.ts";
import { escapeControls } from "../domain/plain-text.ts";
import { createHost, type Host, kindOf, textOf } from "../install/host.ts";
import { install } from "../install/install.ts";
import { LAYOUT, UNIT_NAME } from "../install/layout.ts";
import {
  createPass,
  type Finding,
  lockInstallation,
  lockPath,
  type Pass,
  StepError,
  type Verb,
} from "../install/pass.ts";
import { hasProgram, isSystemdHost, serviceState, systemRun } from "../install/service.ts";
import { INITIAL_CONFIG } from "./init.ts";
import { type CommandIo, configOption, EXIT_FAILURE, EXIT_USAGE, Failure, problemLines } from "./io.ts";

interface InstallOptions extends Partial<Record<"dryRun" | "start", true>> {
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
    .action((options: InstallOptions) => runInstall(options, command, io));
}

async function runInstall(options: InstallOptions, command: Command, io: CommandIo): Promise<void> {
  const { start = false, dryRun = false, systemd } = options;
  if (start && (!systemd || options.root !== undefined))
    return refuse(command, "--start goes neither with --root nor with --no-systemd");
  const sources = "only the licmond binary can install itself, not its sources; `bun run build` makes it";
  if (!Bun.isStandaloneExecutable) throw new Failure(sources);
  const host = await hostFor(options.root ?? null, systemd, command, io);
  refusePackaged(host);
  const wanted = {
    binary: process.execPath,
    version: io.build.version,
    configText: await configText(configOption(command), io),
    withoutSystemd: !systemd,
    start,
    hasSysusers: hasProgram("systemd-sysusers"),
  };
  const { outcome } = await runVerb((pass) => install(pass, wanted), host, dryRun, false, io);
  if (outcome === "unchanged") io.out("Nothing to do: all is installed.\n");
  else if (outcome === "failed") io.err(GOES_ON);
  else if (outcome === "changed") io.out(await nextSteps(host, systemd, start, io.env.PATH ?? ""));
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
async function nextSteps({ root, run }: Host, systemd: boolean, started: boolean, path: string) {
  if (root !== null)
    return `Installed below ${root}. The system inside gives out the directories when it boots. What it needs besides:
  systemd-sysusers --root=${root} licmond.conf    makes the user; a system that never booted does it by itself
  systemctl --root=${root} enable licmond         starts the service at every boot
`;
  // sudo's own $PATH does not have /usr/local/bin on every distribution.
  const licmond = path.split(":").includes("/usr/local/bin") ? "licmond" : LAYOUT.binary;
  const sudo = systemd ? "sudo " : "";
  const isActive = systemd && (await serviceState(run)).isActive;
  const takesEffect = `let it take effect:         sudo systemctl ${started ? "reload" : "restart"} licmond`;
  const enable = `start it, now and at boot:  sudo systemctl enable --now ${UNIT_NAME}`;
  return `
Next:
  1. name your license servers:  sudoedit ${LAYOUT.config}
  2. see what is still wrong:    ${sudo}${licmond} check
  3. ${isActive ? takesEffect : systemd ? enable : `run it:                     ${licmond} serve`}
  4. make the first key:         ${sudo}${licmond} keys create --name admin --role admin
`;
}

/** Ends a command that is called in a wrong way. */
export function refuse(command: Command, message: string): never {
  return command.error(`licmond: ${escapeControls(message)}`, { exitCode: EXIT_USAGE });
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
  if (host.root !== null) {
    // A script whose variable is not set: it would mean the present directory.
    if (root === "") return refuse(command, "--root takes a directory, and got an empty word");
    if (host.root === "/") return refuse(command, "--root / is this host itself; leave --root away");
    if (statSync(host.root, { throwIfNoEntry: false })?.isDirectory() === false)
      return refuse(command, `--root ${host.root} is not a directory`);
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

/** Ends the command where a package manager looks after licmond. */
export function refusePackaged(host: Host): void {
  // A package that was removed keeps its paragraph in dpkg's database, with another status.
  const isInstalled = (paragraph: string) =>
    /^Package: licmond$/m.test(paragraph) && /^Status: \S+ \S+ installed$/m.test(paragraph);
  if (textOf(host.at("/var/lib/dpkg/status")).split("\n\n").some(isInstalled))
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
  const look = createPass(host, false);
  await verb(look);
  const refusals = look.found.filter(({ kind }) => kind === "refuse");
  // Several steps may meet the same hindrance.
  for (const text of new Set(
    refusals.map(({ words, advice }) => `${lines(words)}\n  fix: ${lines(advice ?? "")}`),
  ))
    io.err(`licmond: ${text}\n`);
  if (refusals.length > 0) throw new Failure("nothing was changed");
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
  const act = createPass(host, true, print("done"));
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

/** Words of several lines, each made harmless, all but the first indented. */
export function lines(text: string): string {
  return text.split("\n").map(escapeControls).join("\n    ");
}

function lineOf({ subject, kind, words, advice }: Finding, doing: "would" | "done"): string {
  const mark = { nothing: "ok", do: doing, keep: "kept", refuse: "no" }[kind];
  return `${mark.padEnd(6)} ${subject}: ${lines(words)}\n${advice === null ? "" : `       ${lines(advice)}\n`}`;
}
