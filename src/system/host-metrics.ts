import { readdirSync, readFileSync, statfsSync } from "node:fs";
import { type Clock, systemClock } from "../domain/time/clock.ts";

/** A small text file of /proc, /sys or /etc; null when it is not there or may not be read. */
export type ReadFile = (path: string) => string | null;

export const readSystemFile: ReadFile = (path) => {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
};

/** Blocks of a file system, as statfs(2) gives them; throws when it cannot. */
export type StatFs = (path: string) => Record<"blocks" | "bfree" | "bavail" | "bsize", number>;

/**
 * CPU, memory and disk of the host, or of the container where it is limited to less than the host has: /proc, and the
 * root of the cgroup tree (kernel: admin-guide/cgroup-v2), which is the container's own in a container and without
 * limits on a host. A limit that systemd sets for our unit says nothing about the host. `directory`: where licmond
 * stores, on the file system to watch.
 */
export function createHostMetrics(
  directory: string,
  clock: Clock = systemClock,
  readFile: ReadFile = readSystemFile,
  statFs: StatFs = statfsSync,
) {
  const cpu = createCpuMeter(readFile, clock);
  return {
    /**
     * Percentages 0–100 with two decimals; null where the host does not say. Reads half a dozen small files: well below
     * a millisecond. Each call begins the time of the next `cpu`.
     */
    sample: () => ({
      /** Share of CPU time since the last sample. */
      cpu: cpu(),
      /** Share of memory that could not be given to a new process. */
      memory: readMemory(readFile),
      /** Share of the file system of the directory, as df counts it: without the blocks kept for root. */
      disk: readDisk(statFs, directory),
    }),
  };
}

export type HostSample = ReturnType<ReturnType<typeof createHostMetrics>["sample"]>;

const CGROUP = "/sys/fs/cgroup";

/**
 * Share of CPU time in use over the time since the last call (the first: since creation). A call so soon that no tick of
 * the clock lies between repeats the last answer; when there is none yet, it is the average since boot. In a container
 * that may use fewer CPUs than the host has, it is the share of those.
 */
function createCpuMeter(readFile: ReadFile, clock: Clock): () => number | null {
  let before = readCpu(readFile, clock);
  let last: number | null = null;
  return () => {
    const now = readCpu(readFile, clock);
    if (now === null) return null;
    const isSameClock = before?.ofContainer === now.ofContainer && now.all >= before.all;
    if (before !== null && isSameClock && now.all === before.all)
      return last ?? (now.ofContainer ? null : percent(now.busy, now.all));
    // A clock set back or counters that begin again give no share; the next call has a fresh beginning.
    last = before !== null && isSameClock ? percent(now.busy - before.busy, now.all - before.all) : null;
    before = now;
    return last;
  };
}

/** Time since some beginning in any one unit: all of it, and the part in which a CPU worked. */
function readCpu(readFile: ReadFile, clock: Clock) {
  const stat = readFile("/proc/stat") ?? "";
  const [quota, period] = (readFile(`${CGROUP}/cpu.max`) ?? "").trim().split(/\s+/).map(Number);
  const usedMicros = fieldIn(readFile(`${CGROUP}/cpu.stat`), "usage_usec");
  const hostCpus = stat.match(/^cpu\d+ /gm)?.length ?? Number.POSITIVE_INFINITY;
  if (quota && period && usedMicros !== null && quota / period < hostCpus) {
    return { ofContainer: true, busy: usedMicros, all: (clock.now() * 1000 * quota) / period };
  }
  // The first line: `cpu user nice system idle iowait irq softirq steal guest guest_nice` (proc(5)).
  const fields = /^cpu +(.*)/.exec(stat)?.[1]?.trim().split(/\s+/) ?? [];
  // guest and guest_nice are part of user and nice already.
  const times = fields.slice(0, 8).map(Number);
  if (times.length < 4 || !times.every(Number.isFinite)) return null;
  const all = times.reduce((sum, time) => sum + time, 0);
  return { ofContainer: false, all, busy: all - (times[3] ?? 0) - (times[4] ?? 0) };
}

/** Of a container: without the file cache that the kernel can drop at once (`inactive_file`). */
function readMemory(readFile: ReadFile): number | null {
  const meminfo = readFile("/proc/meminfo");
  const kilobytes = fieldIn(meminfo, "MemTotal");
  const free = fieldIn(meminfo, "MemAvailable");
  const limit = Number(readFile(`${CGROUP}/memory.max`)?.trim() || Number.NaN);
  const used = Number(readFile(`${CGROUP}/memory.current`)?.trim() || Number.NaN);
  if (used >= 0 && limit < (kilobytes ?? Number.POSITIVE_INFINITY) * 1024) {
    const cache = fieldIn(readFile(`${CGROUP}/memory.stat`), "inactive_file") ?? 0;
    return percent(used - cache, limit);
  }
  return kilobytes === null || free === null ? null : percent(kilobytes - free, kilobytes);
}

function readDisk(statFs: StatFs, directory: string): number | null {
  try {
    const { blocks, bfree, bavail } = statFs(directory);
    const used = blocks - bfree;
    return percent(used, used + bavail);
  } catch {
    // The directory is not there (yet) or its file system reports nothing: unknown.
    return null;
  }
}

function percent(part: number, whole: number): number | null {
  if (!(whole > 0) || !Number.isFinite(part)) return null;
  return Math.round(Math.min(1, Math.max(0, part / whole)) * 10_000) / 100;
}

/** The number after a name in lines of `name value` or `Name:  value kB`; null when it is not there. */
function fieldIn(text: string | null, name: string): number | null {
  const found = new RegExp(`^${name}:?\\s+(\\d+)`, "m").exec(text ?? "");
  return found === null ? null : Number(found[1]);
}

export type ProcessMetrics = ReturnType<typeof readProcessMetrics>;

/**
 * What the system says of this process; null where it does not (no /proc). Reads three small things of /proc/self
 * (proc(5)): below a millisecond. `list` throws when it cannot read a directory.
 */
export function readProcessMetrics(
  readFile: ReadFile = readSystemFile,
  list: (path: string) => readonly string[] = readdirSync,
) {
  const { user, system } = process.cpuUsage();
  const virtualKilobytes = fieldIn(readFile("/proc/self/status"), "VmSize");
  let openFds: number | null = null;
  try {
    // Without the one that reading the directory takes.
    openFds = list("/proc/self/fd").length - 1;
  } catch {
    // No /proc: unknown.
  }
  return {
    /** User and system time since the start. */
    cpuSeconds: (user + system) / 1e6,
    memoryBytes: process.memoryUsage.rss(),
    virtualBytes: virtualKilobytes === null ? null : virtualKilobytes * 1024,
    openFds,
    maxFds: fieldIn(readFile("/proc/self/limits"), "Max open files"),
  };
}
