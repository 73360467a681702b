import { statSync } from "node:fs";
import { loadConfig } from "../config/find.ts";
import { escapeControls } from "../domain/plain-text.ts";
import { createHost, type Host, kindOf } from "../install/host.ts";
import { LAYOUT } from "../install/layout.ts";
import { textOf } from "../install/ownership.ts";
import { isSystemdHost, systemRun } from "../install/service.ts";
import { type CommandIo, EXIT_USAGE, fail } from "./io.ts";

/** The host to install on, when this user may and it is one; else says why not, fails, and gives null. */
export async function hostFor(
  root: string | null,
  needsSystemd: boolean,
  io: CommandIo,
): Promise<Host | null> {
  const uid = process.geteuid?.();
  const refuse = (why: string): null => {
    fail(io, why);
    return null;
  };
  if (process.platform !== "linux" || uid === undefined)
    return refuse("it works on Linux only; elsewhere `licmond serve` runs the daemon in the foreground");
  const host = createHost(root, uid, systemRun());
  if (root !== null && host.root !== null) {
    const wrong = whyNoRoot(root, host.root);
    if (wrong !== null) {
      io.err(`licmond: ${escapeControls(wrong)}\n`);
      io.exitCode(EXIT_USAGE);
      return null;
    }
    if (uid !== 0) io.err("licmond: not root: all files below --root will be owned by this user\n");
    return host;
  }
  if (uid !== 0) return refuse("it changes the system and needs root: run it with sudo");
  if (needsSystemd && !(await isSystemdHost(host.run)))
    return refuse(
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

/** True, and said, when a package manager looks after licmond on the host. */
export function isPackaged(host: Host, io: CommandIo): boolean {
  const isDebian = textOf(host.at("/var/lib/dpkg/status")).split("\n\n").some(isDpkgs);
  if (isDebian)
    fail(
      io,
      "licmond is installed as a Debian package; use apt: `apt install ./licmond_VERSION.deb` upgrades it, `apt remove licmond` removes it, `apt purge licmond` with config and data",
    );
  else if (kindOf(host.at("/usr/bin/licmond")) === "missing") return false;
  else
    fail(
      io,
      "/usr/bin/licmond is there, so a package has installed licmond; use the package manager, or remove the package first",
    );
  return true;
}

/** Where the installed config has the database; null when the config cannot be read. */
export function storageOf(host: Host): string | null {
  const loaded = loadConfig(host.at(LAYOUT.config), {});
  return loaded.ok ? loaded.config.storage.directory : null;
}
