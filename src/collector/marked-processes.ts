import { readdirSync, readFileSync } from "node:fs";

/** The variable by which every process of a command is known, whatever process group or session it makes for itself. */
export const MARK = "LICMOND_RUN";

/**
 * Kills the processes that have `LICMOND_RUN` with this value in their environment. A process that called setsid(2) is no
 * longer in its command's group, and a signal to the group does not reach it.
 *
 * Not found are processes that dropped the variable, and those whose environment the kernel does not show to their own
 * user: set-user-ID programs, and programs that may be executed and not read (proc_pid_environ(5)).
 */
export function killMarked(value: string): void {
  const killed = new Set<number>();
  for (;;) {
    // Once more after each find: what was just killed may have started another before.
    const found = candidates().filter((pid) => !killed.has(pid) && isMarked(pid, value));
    if (found.length === 0) return;
    for (const pid of found) {
      killed.add(pid);
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // ESRCH: it ended by itself.
      }
    }
  }
}

function isMarked(pid: number, value: string): boolean {
  return read(`/proc/${pid}/environ`).split("\0").includes(`${MARK}=${value}`);
}

/**
 * Processes among which those of our commands are: under systemd the few of our own cgroup, which no process leaves
 * without privileges (cgroups(7)), else all of the host or container.
 */
function candidates(): number[] {
  for (const line of read("/proc/self/cgroup").split("\n")) {
    const [, controllers, ...rest] = line.split(":");
    const path = rest.join(":");
    const roots = controllers === "" ? ["", "/unified"] : controllers === "name=systemd" ? ["/systemd"] : [];
    for (const root of roots) {
      const pids = read(`/sys/fs/cgroup${root}${path}/cgroup.procs`).split("\n").map(Number);
      // Where another's tree is shown under this path, we are not in it.
      if (pids.includes(process.pid)) return pids.filter((pid) => pid > 0);
    }
  }
  return readdirSync("/proc")
    .map(Number)
    .filter((pid) => pid > 0);
}

function read(file: string): string {
  try {
    return readFileSync(file, "latin1");
  } catch {
    // Gone meanwhile, or of another user.
    return "";
  }
}
