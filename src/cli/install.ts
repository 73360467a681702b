import { statSync } from "node:fs";
import { loadConfig } from "../config/load.ts";
import { escapeControls } from "../domain/plain-text.ts";
import {
  createHost,
  type Host,
  hasProgram,
  isSystemdHost,
  kindOf,
  serviceState,
  systemRun,
  textOf,
} from "../install/host.ts";
import { install as installAll } from "../install/install.ts";
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
import { uninstall as removeAll } from "../install/uninstall.ts";
import { type CreateProgram, command, flag, text } from "./command.ts";
import { INITIAL_CONFIG } from "./init.ts";
import { type CommandIo, EXIT_FAILURE, EXIT_USAGE, Failure, problemLines } from "./io.ts";
import { manPage } from "./man-page.ts";

const DRY_RUN = flag("print every step and change nothing");

/** `licmond install`: the running binary as a service of this host. */
export const installCommand = (createProgram: CreateProgram) =>
  command({
    options: {
      "dry-run": DRY_RUN,
      start: flag("start the service too, now and at every boot"),
      "no-systemd": flag("the binary and the config alone, for hosts without systemd"),
      root: text("<dir>", "lay the files below a directory and run nothing, for images and packages"),
    },
    async run({ options, config }, io) {
      const { start, root, "dry-run": dryRun, "no-systemd": withoutSystemd } = options;
      if (start && (withoutSystemd || root !== undefined))
        throw misused("--start goes neither with --root nor with --no-systemd");
      const sources = "only the licmond binary can install itself, not its sources; `bun run build` makes it";
      if (!Bun.isStandaloneExecutable) throw new Failure(sources);
      const host = await hostFor(root ?? null, !withoutSystemd, io);
      refusePackaged(host);
      const wanted = {
        binary: process.execPath,
        version: io.build.version,
        configText: await configText(config, io),
        manPage: await manPage(createProgram, io.build.version, ""),
        withoutSystemd,
        start,
        hasSysusers: hasProgram("systemd-sysusers"),
      };
      const { outcome } = await runVerb((pass) => installAll(pass, wanted), host, dryRun, false, io);
      if (outcome === "unchanged") io.out("Nothing to do: all is installed.\n");
      else if (outcome === "failed") io.err(GOES_ON);
      else if (outcome === "changed")
        io.out(await nextSteps(host, !withoutSystemd, start, io.env.PATH ?? ""));
    },
  });

/** `licmond uninstall`: takes away what `install` laid down. */
export const uninstall = command({
  options: {
    purge: flag("delete config, data and user too; asks first"),
    yes: flag("with --purge: do not ask"),
    force: flag("remove unit, sysusers and tmpfiles also when they were changed by hand"),
    "dry-run": DRY_RUN,
    root: text("<dir>", "remove the files below a directory and run nothing"),
  },
  async run({ options: { purge, yes, force, root, "dry-run": dryRun } }, io) {
    const host = await hostFor(root ?? null, false, io);
    // A package looks after its own, config and data with it; what `install` left beside it may go.
    const isInstalled = [LAYOUT.binary, LAYOUT.unit].some((path) => kindOf(host.at(path)) !== "missing");
    if (purge || !isInstalled) refusePackaged(host);
    const storage = storageOf(host);
    const otherData = storage === LAYOUT.data ? null : storage;
    if (purge && !yes && !dryRun) await confirmPurge(host.root, io);
    const withSystemd = host.root === null && (await isSystemdHost(host.run));
    const wanted = { purge, force, withSystemd, otherData };
    const { outcome } = await runVerb((pass) => removeAll(pass, wanted), host, dryRun, true, io);
    if (outcome === "unchanged")
      io.out("Nothing to do: nothing of licmond is left that uninstall removes.\n");
    else if (outcome === "failed") io.err(GOES_ON);
    else if (outcome === "changed") io.out("licmond is removed.\n");
  },
});

const UNASKED = "--purge deletes config, history and keys for good: say --yes where no one can be asked";

/** Asks a person; where there is none, `--yes` must have said it. */
async function confirmPurge(root: string | null, io: CommandIo): Promise<void> {
  if (!io.terminal.out || !process.stdin.isTTY) throw misused(UNASKED);
  const where = root === null ? "on this host" : `below ${root}`;
  await io.flushed();
  const all = `Config, history, keys and user of licmond ${where}`;
  const answer = prompt(`${all} will be deleted for good. Type "delete" to go on:`);
  if (answer?.trim() !== "delete") throw new Failure("nothing was changed");
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

/** Ends a command whose options do not go together. */
export function misused(message: string): Failure {
  return new Failure(message, EXIT_USAGE);
}

/** The host to work on, where this user may; ends the command where not. */
export async function hostFor(root: string | null, needsSystemd: boolean, io: CommandIo): Promise<Host> {
  const uid = process.geteuid?.();
  if (process.platform !== "linux" || uid === undefined)
    throw new Failure("it works on Linux only; elsewhere `licmond serve` runs the daemon in the foreground");
  const host = createHost(root, uid, systemRun());
  if (host.root !== null) {
    // A script whose variable is not set: it would mean the present directory.
    if (root === "") throw misused("--root takes a directory, and got an empty word");
    if (host.root === "/") throw misused("--root / is this host itself; leave --root away");
    if (statSync(host.root, { throwIfNoEntry: false })?.isDirectory() === false)
      throw misused(`--root ${host.root} is not a directory`);
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
  const texts = refusals.map(({ words, advice }) => `${lines(words)}\n  fix: ${lines(advice ?? "")}`);
  for (const text of new Set(texts)) io.err(`licmond: ${text}\n`);
  if (refusals.length > 0) throw new Failure("nothing was changed");
  if (dryRun || !look.hasWork()) {
    look.found.forEach(print(dryRun ? "would" : "done"));
    if (dryRun) io.out("Nothing was changed.\n");
    return { outcome: dryRun ? "planned" : "unchanged", pass: look };
  }
  const locked = lockInstallation(lockPath(host));
  const busy = "is at work on this installation: nothing was changed";
  if ("holder" in locked) throw new Failure(`another licmond (process ${locked.holder}) ${busy}`);
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
