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
import { type CreateProgram, command, flag, manPage, text } from "./command.ts";
import { INITIAL_CONFIG } from "./init.ts";
import { type CommandIo, EXIT_FAILURE, EXIT_USAGE, Failure, problemLines } from "./io.ts";

const DRY_RUN = flag("print the steps without changing anything");

export const installCommand = (createProgram: CreateProgram) =>
  command({
    options: {
      "dry-run": DRY_RUN,
      start: flag("also start the service, now and at boot"),
      "no-systemd": flag("install only the binary and the config, for hosts without systemd"),
      root: text("<dir>", "install below a directory and run nothing, for images and packages"),
    },
    async run({ options, config }, io) {
      const { start, root, "dry-run": dryRun, "no-systemd": withoutSystemd } = options;
      if (start && (withoutSystemd || root !== undefined))
        throw misused("--start cannot be used with --root or --no-systemd");
      const sources = "only the licmond binary can install itself; build it with `bun run build`";
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
      if (outcome === "unchanged") io.out("Nothing to do: already installed.\n");
      else if (outcome === "failed") io.err(GOES_ON);
      else if (outcome === "changed")
        io.out(await nextSteps(host, !withoutSystemd, start, io.env.PATH ?? ""));
    },
  });

export const uninstall = command({
  options: {
    purge: flag("also delete config, data and user, after a confirmation"),
    yes: flag("with --purge: skip the confirmation"),
    force: flag("also remove a unit, sysusers or tmpfiles file that was changed"),
    "dry-run": DRY_RUN,
    root: text("<dir>", "remove the files below a directory and run nothing"),
  },
  async run({ options: { purge, yes, force, root, "dry-run": dryRun } }, io) {
    const host = await hostFor(root ?? null, false, io);
    // A package removes its own files. If a package is installed, only leftovers of `install` may be removed.
    const isInstalled = [LAYOUT.binary, LAYOUT.unit].some((path) => kindOf(host.at(path)) !== "missing");
    if (purge || !isInstalled) refusePackaged(host);
    const storage = storageOf(host);
    const otherData = storage === LAYOUT.data ? null : storage;
    if (purge && !yes && !dryRun) await confirmPurge(host.root, io);
    const withSystemd = host.root === null && (await isSystemdHost(host.run));
    const wanted = { purge, force, withSystemd, otherData };
    const { outcome } = await runVerb((pass) => removeAll(pass, wanted), host, dryRun, true, io);
    if (outcome === "unchanged") io.out("Nothing to do: licmond is not installed.\n");
    else if (outcome === "failed") io.err(GOES_ON);
    else if (outcome === "changed") io.out("Removed licmond.\n");
  },
});

const UNASKED = "--purge permanently deletes config, history and keys; without a terminal confirm with --yes";

async function confirmPurge(root: string | null, io: CommandIo): Promise<void> {
  if (!io.terminal.out || !process.stdin.isTTY) throw misused(UNASKED);
  const where = root === null ? "on this host" : `below ${root}`;
  await io.flushed();
  const all = `Config, history, keys and user of licmond ${where}`;
  const answer = prompt(`${all} will be permanently deleted. Type "delete" to continue:`);
  if (answer?.trim() !== "delete") throw new Failure("nothing was changed");
}

async function configText(file: string | undefined, io: CommandIo): Promise<string> {
  if (file === undefined) return INITIAL_CONFIG;
  // The service does not have the caller's environment variables.
  const loaded = loadConfig(file, {});
  for (const line of await problemLines(loaded)) io.err(`${escapeControls(line)}\n`);
  if (!loaded.ok) throw new Failure("invalid config: nothing was changed");
  return Bun.file(file).text();
}

async function nextSteps({ root, run }: Host, systemd: boolean, started: boolean, path: string) {
  if (root !== null)
    return `Installed below ${root}. The image creates the directories when it boots. It also needs:
  systemd-sysusers --root=${root} licmond.conf    creates the user; a first boot does this too
  systemctl --root=${root} enable licmond         starts the service at every boot
`;
  // sudo's $PATH lacks /usr/local/bin on some distributions.
  const licmond = path.split(":").includes("/usr/local/bin") ? "licmond" : LAYOUT.binary;
  const sudo = systemd ? "sudo " : "";
  const isActive = systemd && (await serviceState(run)).isActive;
  const takesEffect = `apply it:                   sudo systemctl ${started ? "reload" : "restart"} licmond`;
  const enable = `start it, now and at boot:  sudo systemctl enable --now ${UNIT_NAME}`;
  return `
Next:
  1. add your license servers:   sudoedit ${LAYOUT.config}
  2. check the setup:            ${sudo}${licmond} check
  3. ${isActive ? takesEffect : systemd ? enable : `run it:                     ${licmond} serve`}
  4. make the first key:         ${sudo}${licmond} keys create --name admin --role admin
`;
}

export function misused(message: string): Failure {
  return new Failure(message, EXIT_USAGE);
}

const NO_SYSTEMD =
  "this host does not run systemd; use `--no-systemd` for only the binary and the config, or `--root` for an image";

/** Returns the host to work on. Fails if this user may not change it. */
export async function hostFor(root: string | null, needsSystemd: boolean, io: CommandIo): Promise<Host> {
  const uid = process.geteuid?.();
  if (process.platform !== "linux" || uid === undefined)
    throw new Failure("this command needs Linux; elsewhere run `licmond serve`");
  const host = createHost(root, uid, systemRun());
  if (host.root !== null) {
    // Reject an empty string: it comes from an unset variable in a script, and would mean the current directory.
    if (root === "") throw misused("--root must be a directory, not an empty string");
    if (host.root === "/") throw misused("--root / is this host; omit --root");
    if (statSync(host.root, { throwIfNoEntry: false })?.isDirectory() === false)
      throw misused(`--root ${host.root} is not a directory`);
    if (uid !== 0) io.err("licmond: not running as root: this user will own all files below --root\n");
    return host;
  }
  if (uid !== 0) throw new Failure("this command needs root; run it with sudo");
  if (needsSystemd && !(await isSystemdHost(host.run))) throw new Failure(NO_SYSTEMD);
  return host;
}

export function refusePackaged(host: Host): void {
  // dpkg keeps the paragraph of a removed package, with another status.
  const isInstalled = (paragraph: string) =>
    /^Package: licmond$/m.test(paragraph) && /^Status: \S+ \S+ installed$/m.test(paragraph);
  if (textOf(host.at("/var/lib/dpkg/status")).split("\n\n").some(isInstalled))
    throw new Failure(
      "licmond is installed as a Debian package; upgrade it with `apt install ./licmond_VERSION.deb`, remove it with `apt remove licmond`, or with config and data with `apt purge licmond`",
    );
  if (kindOf(host.at("/usr/bin/licmond")) !== "missing")
    throw new Failure(
      "/usr/bin/licmond exists, so licmond was installed by a package; use the package manager, or remove the package first",
    );
}

/** Returns the database directory in the installed config; null if the config is unusable. */
export function storageOf(host: Host): string | null {
  const loaded = loadConfig(host.at(LAYOUT.config), {});
  return loaded.ok ? loaded.config.storage.directory : null;
}

export const GOES_ON = "  Completed steps stay; run the same command again to continue.\n";

/**
 * Inspects every step of a command. Then applies the steps, unless a step refuses or the run is a dry run.
 * Prints a line per step, or with `brief` only for steps with work. A failure is printed and sets the exit
 * code. Rejects with a Failure if a step refuses. Returns as `pass` the last pass, which knows the changes.
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
  // Several steps may report the same obstacle.
  const texts = refusals.map(({ words, advice }) => `${lines(words)}\n  fix: ${lines(advice ?? "")}`);
  for (const text of new Set(texts)) io.err(`licmond: ${text}\n`);
  if (refusals.length > 0) throw new Failure("nothing was changed");
  if (dryRun || !look.hasWork()) {
    look.found.forEach(print(dryRun ? "would" : "done"));
    if (dryRun) io.out("Nothing was changed.\n");
    return { outcome: dryRun ? "planned" : "unchanged", pass: look };
  }
  const locked = lockInstallation(lockPath(host));
  const busy = "is changing this installation: nothing was changed";
  if ("holder" in locked) throw new Failure(`another licmond (process ${locked.holder}) ${busy}`);
  const act = createPass(host, true, print("done"));
  try {
    await verb(act);
    // There may be no work left, because the process that held the lock before may have done everything.
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

/** Escapes control characters in each line, and indents all lines but the first. */
export function lines(text: string): string {
  return text.split("\n").map(escapeControls).join("\n    ");
}

function lineOf({ subject, kind, words, advice }: Finding, doing: "would" | "done"): string {
  const mark = { nothing: "ok", do: doing, keep: "kept", refuse: "no" }[kind];
  return `${mark.padEnd(6)} ${subject}: ${lines(words)}\n${advice === null ? "" : `       ${lines(advice)}\n`}`;
}
