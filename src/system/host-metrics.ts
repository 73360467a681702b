import { readdirSync, readFileSync, statfsSync } from "node:fs";
import { type Clock, systemClock } from "../domain/time/clock.ts";

/** Reads a small text file in /proc, /sys or /etc; null if missing or unreadable. */
export type ReadFile = (path: string) => string | null;

export const readSystemFile: ReadFile = (path) => {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
};

/** statfs(2); throws on errors. */
export type StatFs = (path: string) => Record<"blocks" | "bfree" | "bavail" | "bsize", number>;

/**
 * Measures CPU, memory and disk of the host, or of a container with lower limits. In a container, the root
 * of the cgroup tree (kernel: admin-guide/cgroup-v2) is the container's own. Limits of licmond's unit do
 * not count, because they do not apply to the host. `directory`: the storage directory, whose file system
 * is measured.
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
     * Returns percentages 0–100 with two decimals; null if unknown. `cpu` covers the time since the
     * previous call.
     */
    sample: () => ({
      cpu: cpu(),
      /** Memory that is not available to new processes. */
      memory: readMemory(readFile),
      /** Used space as df counts it: without blocks reserved for root. */
      disk: readDisk(statFs, directory),
    }),
  };
}

export type HostSample = ReturnType<ReturnType<typeof createHostMetrics>["sample"]>;

const CGROUP = "/sys/fs/cgroup";

/**
 * Creates a meter of the CPU share since the last call. Repeats the last answer if no clock tick has
 * passed; before the first tick, returns the average since boot. In a container with fewer CPUs than the
 * host, returns the share of the container's CPUs.
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
    // Returns null if the clock or the counters were reset; the next call measures from here.
    last = before !== null && isSameClock ? percent(now.busy - before.busy, now.all - before.all) : null;
    before = now;
    return last;
  };
}

/** Returns total and busy CPU time, in any unit. */
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
  // Leave out guest and guest_nice, which are included in user and nice.
  const times = fields.slice(0, 8).map(Number);
  if (times.length < 4 || !times.every(Number.isFinite)) return null;
  const all = times.reduce((sum, time) => sum + time, 0);
  return { ofContainer: false, all, busy: all - (times[3] ?? 0) - (times[4] ?? 0) };
}

/** In a container, does not count file cache that the kernel can drop at once (`inactive_file`). */
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
    // The directory does not exist yet, or its file system reports no size.
    return null;
  }
}

function percent(part: number, whole: number): number | null {
  if (!(whole > 0) || !Number.isFinite(part)) return null;
  return Math.round(Math.min(1, Math.max(0, part / whole)) * 10_000) / 100;
}

/** Returns the number in a line of `name value` or `Name:  value kB`; null if missing. */
function fieldIn(text: string | null, name: string): number | null {
  const found = new RegExp(`^${name}:?\\s+(\\d+)`, "m").exec(text ?? "");
  return found === null ? null : Number(found[1]);
}

export type ProcessMetrics = ReturnType<typeof readProcessMetrics>;

/** Reads metrics of this process from /proc/self (proc(5)); null without /proc. */
export function readProcessMetrics(
  readFile: ReadFile = readSystemFile,
  list: (path: string) => readonly string[] = readdirSync,
) {
  const { user, system } = process.cpuUsage();
  const virtualKilobytes = fieldIn(readFile("/proc/self/status"), "VmSize");
  let openFds: number | null = null;
  try {
    // Do not count the descriptor that reads the directory.
    openFds = list("/proc/self/fd").length - 1;
  } catch {
    // There is no /proc.
  }
  return {
    /** User and system time. */
    cpuSeconds: (user + system) / 1e6,
    memoryBytes: process.memoryUsage.rss(),
    virtualBytes: virtualKilobytes === null ? null : virtualKilobytes * 1024,
    openFds,
    maxFds: fieldIn(readFile("/proc/self/limits"), "Max open files"),
  };
}
