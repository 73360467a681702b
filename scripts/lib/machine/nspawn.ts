/**
 * Debian's `systemd-nspawn`: a root file system is booted, or one program is run in it, without a network.
 * Needs root. Where the host's own PID 1 is not systemd, nobody gives the machine control groups of its own, so they
 * are made here: two machines in one group would end each other's services.
 */
import { mkdir, readdir, readFile, rmdir } from "node:fs/promises";
import { join } from "node:path";

/** Where hierarchies that systemd uses may be mounted: v1 alone, v1 beside v2, v2 alone. */
const HIERARCHIES = ["/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified", "/sys/fs/cgroup"];

export interface Nspawn {
  /** To be started in its own right: it ends when the machine does. SIGTERM halts the machine, a second one kills it. */
  readonly argv: readonly string[];
  /** Takes its control groups away; after it has ended. */
  tidy(): Promise<void>;
}

/**
 * @param name letters, digits and `-`; no two machines at a time may have the same
 * @param options `--boot` or a program are among them
 */
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
  // The shell joins the groups, and what it becomes stays in them.
  const join = 'while [ "$1" != -- ]; do echo $$ >"$1/cgroup.procs" || exit; shift; done; shift; exec "$@"';
  return {
    argv: groups.length === 0 ? argv : ["sh", "-c", join, "sh", ...groups, "--", ...argv],
    async tidy() {
      for (const group of groups) await removeGroup(group);
    },
  };
}

/** Groups of this name below those that this process is in. */
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

/** A group and all below it, once the kernel has buried the last process in them. */
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
