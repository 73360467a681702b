import { statSync } from "node:fs";
import { escapeControls } from "../domain/plain-text.ts";
import { createHost, type Host } from "../install/host.ts";
import { packagedBy } from "../install/package-owner.ts";
import { isSystemdHost } from "../install/service.ts";
import { systemRun } from "../install/this-host.ts";
import { type CommandIo, EXIT_USAGE, fail } from "./io.ts";

/** The host to install on, when this user may and it is one; else says why not, fails, and gives null. */
export async function hostFor(
  root: string | null,
  { needsSystemd }: { readonly needsSystemd: boolean },
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

/** True, and said, when a package manager looks after licmond on the host. */
export function isPackaged(host: Host, io: CommandIo): boolean {
  const packager = packagedBy(host);
  if (packager === null) return false;
  fail(
    io,
    packager === "dpkg"
      ? "licmond is installed as a Debian package; use apt: `apt install ./licmond_VERSION.deb` upgrades it, `apt remove licmond` removes it, `apt purge licmond` with config and data"
      : "/usr/bin/licmond is there, so a package has installed licmond; use the package manager, or remove the package first",
  );
  return true;
}
