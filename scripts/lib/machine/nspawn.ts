/**
 * Runs Debian's `systemd-nspawn`: boots a root file system, or runs one program in it, without a network. Needs root. If PID
 * 1 of the host is not systemd, nothing creates control groups for the machine, so they are created here: two machines in
 * one group would end each other's services.
 */
import { mkdir, readdir, readFile, rmdir } from "node:fs/promises";
import { join } from "node:path";

/** Mount points of the hierarchies that systemd uses: v1 alone, v1 and v2, v2 alone. */
const HIERARCHIES = ["/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified", "/sys/fs/cgroup"];

interface Nspawn {
  /** Command that runs until the machine halts. SIGTERM halts the machine; a second one kills it. */
  readonly argv: readonly string[];
  /** Removes the control groups after the machine has ended. */
  tidy(): Promise<void>;
}

/** @param name letters, digits and `-`; unique among running machines @param options include `--boot` or a program */
export async function nspawn(name: string, root: string, options: readonly string[]): Promise<Nspawn> {
  const hostHasSystemd = (await readFile("/proc/1/comm", "utf8")).trim() === "systemd";
  const groups = hostHasSystemd ? [] : await makeGroups(name);
  const argv = [
    "systemd-nspawn",
    "--quiet",
    `--directory=${root}`,
    `--machine=${name}`,
    "--register=no",
    ...(hostHasSystemd ? [] : ["--keep-unit"]),
    "--private-network",
    "--resolv-conf=off",
    "--timezone=off",
    "--link-journal=no",
    "--console=pipe",
    ...options,
  ];
  // The shell joins the groups, and the program that it executes stays in them.
  const join = 'while [ "$1" != -- ]; do echo $$ >"$1/cgroup.procs" || exit; shift; done; shift; exec "$@"';
  return {
    argv: groups.length === 0 ? argv : ["sh", "-c", join, "sh", ...groups, "--", ...argv],
    async tidy() {
      for (const group of groups) await removeGroup(group);
    },
  };
}

/** Creates groups of this name below the groups of this process. */
async function makeGroups(name: string): Promise<string[]> {
  const own = new Map<string, string>();
  for (const line of (await readFile("/proc/self/cgroup", "utf8")).trim().split("\n")) {
    const [, controllers = "", path = "/"] = line.split(":");
    own.set(controllers, path);
  }
  const groups: string[] = [];
  for (const hierarchy of HIERARCHIES) {
    const path = hierarchy.endsWith("/systemd") ? own.get("name=systemd") : own.get("");
    if (path === undefined || !(await Bun.file(join(hierarchy, path, "cgroup.procs")).exists())) continue;
    const group = join(hierarchy, path, name);
    await mkdir(group, { recursive: true });
    groups.push(group);
  }
  return groups;
}

/** Removes a group and its children, once the kernel has removed their last process. */
async function removeGroup(group: string): Promise<void> {
  const folders = (await readdir(group, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name));
  const deadline = performance.now() + 5000;
  for (const folder of [...folders.sort().reverse(), group]) {
    for (;;) {
      try {
        await rmdir(folder);
        break;
      } catch (error) {
        if (performance.now() > deadline) throw error;
        await Bun.sleep(10);
      }
    }
  }
}
