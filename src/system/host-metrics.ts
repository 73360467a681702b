import { readdirSync, readFileSync, statfsSync } from "node:fs";
import { cpus, freemem, totalmem } from "node:os";
import { type Clock, systemClock } from "../domain/clock.ts";

/** A small text file of /proc, /sys or /etc; null when it is not there or may not be read. */
export type ReadFile = (path: string) => string | null;

export const readSystemFile: ReadFile = (path) => {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
};

/** A file that holds one number; null for anything else, e.g. `max`. */
function numberIn(text: string | null): number | null {
  const trimmed = text?.trim() ?? "";
  return /^\d+$/.test(trimmed) ? Number(trimmed) : null;
}

/** The number behind a name in lines of `name value` or `Name:  value kB`; null when it is not there. */
function fieldIn(text: string, name: string): number | null {
  for (const line of text.split("\n")) {
    if (!line.startsWith(name)) continue;
    const found = /^:?\s+(\d+)/.exec(line.slice(name.length));
    if (found !== null) return Number(found[1]);
  }
  return null;
}

/** What the container we run in may use, and has used. Null where it sets no limit or tells nothing. */
interface ContainerLimits {
  /** CPUs' worth of time, e.g. 1.5, and the time used so far in microseconds. */
  cpu(): { readonly cpus: number; readonly usedMicros: number } | null;
  /** Bytes; `used` without the file cache that the kernel can drop at once (`inactive_file`). */
  memory(): { readonly limit: number; readonly used: number } | null;
}

const ROOT = "/sys/fs/cgroup";

/** Container engines' own names in the path of a process's cgroup, where the engine shows it the host's tree. */
const ENGINE = /docker|kubepods|containerd|libpod|crio|lxc|garden|machine\.slice/;

/**
 * Limits of a container by cgroup v2, else v1 (kernel: admin-guide/cgroup-v2, cgroup-v1/memory, scheduler/sched-bwc).
 * Looked at is the root of the tree that we see, which is the container's own in a container and without limits on
 * a host, and our own place in it only when a container engine made it: a limit that systemd sets for our unit
 * says nothing about the host. Which files there are is found out once.
 */
function createContainerLimits(readFile: ReadFile): ContainerLimits {
  const places = findPlaces(readFile);
  const second = places.flatMap((place) => [`${ROOT}${place}`, `${ROOT}/unified${place}`]);
  const at = (controllers: readonly string[]) =>
    places.flatMap((place) => controllers.map((name) => `${ROOT}/${name}${place}`));
  const cpuFirst = at(["cpu", "cpu,cpuacct"]);
  const usageFirst = at(["cpuacct", "cpu,cpuacct"]);
  const memoryFirst = at(["memory"]);

  const find = (folders: readonly string[], file: string) =>
    folders.find((folder) => readFile(`${folder}/${file}`) !== null) ?? null;
  const cpuMax = find(second, "cpu.max");
  const cpuQuota = find(cpuFirst, "cpu.cfs_quota_us");
  const cpuUsage = find(usageFirst, "cpuacct.usage");
  const memoryMax = find(second, "memory.max");
  const memoryLimit = find(memoryFirst, "memory.limit_in_bytes");

  const cpuSecond = (folder: string) => {
    const [quota, period] = (readFile(`${folder}/cpu.max`) ?? "").trim().split(/\s+/).map(Number);
    const usedMicros = fieldIn(readFile(`${folder}/cpu.stat`) ?? "", "usage_usec");
    if (!quota || !period || usedMicros === null) return null;
    return { cpus: quota / period, usedMicros };
  };
  const cpuOfFirst = (quotas: string, usages: string) => {
    const quota = numberIn(readFile(`${quotas}/cpu.cfs_quota_us`));
    const period = numberIn(readFile(`${quotas}/cpu.cfs_period_us`));
    const usedNanos = numberIn(readFile(`${usages}/cpuacct.usage`));
    if (!quota || !period || usedNanos === null) return null;
    return { cpus: quota / period, usedMicros: usedNanos / 1000 };
  };
  const memory = (folder: string, limitFile: string, usedFile: string, cacheField: string) => {
    const limit = numberIn(readFile(`${folder}/${limitFile}`));
    const used = numberIn(readFile(`${folder}/${usedFile}`));
    if (limit === null || used === null) return null;
    const cache = fieldIn(readFile(`${folder}/memory.stat`) ?? "", cacheField) ?? 0;
    return { limit, used: Math.max(0, used - cache) };
  };

  return {
    cpu() {
      if (cpuMax !== null) return cpuSecond(cpuMax);
      return cpuQuota === null || cpuUsage === null ? null : cpuOfFirst(cpuQuota, cpuUsage);
    },
    memory() {
      if (memoryMax !== null) return memory(memoryMax, "memory.max", "memory.current", "inactive_file");
      if (memoryLimit === null) return null;
      return memory(memoryLimit, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file");
    },
  };
}

/** Paths below the controllers' roots to look at, the nearest first. */
function findPlaces(readFile: ReadFile): string[] {
  const own = new Set<string>();
  for (const line of (readFile("/proc/self/cgroup") ?? "").split("\n")) {
    const path = line.split(":").slice(2).join(":");
    if (path !== "/" && ENGINE.test(path) && !path.includes("..")) own.add(path);
  }
  return [...own, ""];
}

/** Time since some beginning in any one unit: all of it, and the part in which a CPU worked. */
interface CpuTime {
  readonly all: number;
  readonly busy: number;
}

/** Times of all CPUs of this process's host, for systems without /proc. */
type PortableCpuTime = () => CpuTime | null;

interface CpuDeps {
  readonly readFile: ReadFile;
  readonly container: ContainerLimits;
  readonly clock: Clock;
  readonly portable?: PortableCpuTime;
}

/**
 * Share of CPU time in use, 0–100, over the time since the last call (the first: since creation). A call so soon
 * that no tick of the clock lies between repeats the last answer; when there is none yet, it is the average since
 * boot where the system counts from there, else null. In a container that may use fewer CPUs than the host has,
 * it is the share of those.
 */
function createCpuMeter({
  readFile,
  container,
  clock,
  portable = readPortable,
}: CpuDeps): () => number | null {
  const take = () => takeReadings(readFile, container, clock, portable);
  let before = take();
  let last: number | null = null;
  return () => {
    const now = take();
    if (now === null) return null;
    const comparable = before !== null && before.ofContainer === now.ofContainer;
    const all = comparable && before !== null ? now.all - before.all : 0;
    if (all > 0 && before !== null) {
      last = share(now.busy - before.busy, all);
      before = now;
    } else if (all < 0 || !comparable) {
      // A clock set back or counters that begin anew give no share; the next call has a fresh beginning.
      last = null;
      before = now;
    } else if (last === null && !now.ofContainer) {
      return share(now.busy, now.all);
    }
    return last;
  };
}

function takeReadings(
  readFile: ReadFile,
  container: ContainerLimits,
  clock: Clock,
  portable: PortableCpuTime,
): (CpuTime & { readonly ofContainer: boolean }) | null {
  const stat = readFile("/proc/stat");
  const host = stat === null ? portable() : parseProcStat(stat);
  const limit = container.cpu();
  const hostCpus = stat === null ? null : (stat.match(/^cpu\d+ /gm)?.length ?? null);
  if (limit !== null && (hostCpus === null || limit.cpus < hostCpus)) {
    return { ofContainer: true, busy: limit.usedMicros, all: clock.now() * 1000 * limit.cpus };
  }
  return host === null ? null : { ofContainer: false, ...host };
}

/** The first line of /proc/stat: `cpu user nice system idle iowait irq softirq steal guest guest_nice` (proc(5)). */
function parseProcStat(text: string): CpuTime | null {
  const end = text.indexOf("\n");
  const [name, ...fields] = (end === -1 ? text : text.slice(0, end)).trim().split(/\s+/);
  // guest and guest_nice are part of user and nice already.
  const times = fields.slice(0, 8).map(Number);
  if (name !== "cpu" || times.length < 4 || times.some((time) => !Number.isFinite(time))) return null;
  const all = times.reduce((sum, time) => sum + time, 0);
  return { all, busy: all - (times[3] ?? 0) - (times[4] ?? 0) };
}

function readPortable(): CpuTime | null {
  let all = 0;
  let idle = 0;
  try {
    for (const { times } of cpus()) {
      all += times.user + times.nice + times.sys + times.idle + times.irq;
      idle += times.idle;
    }
  } catch {
    // A sandbox without /proc: unknown.
    return null;
  }
  return all === 0 ? null : { all, busy: all - idle };
}

function share(part: number, whole: number): number | null {
  if (!(whole > 0)) return null;
  return Math.round(Math.min(1, Math.max(0, part / whole)) * 10_000) / 100;
}

/** What the system tells of this process; null where it does not (no /proc). */
interface ProcessMetrics {
  /** User and system time since the start. */
  readonly cpuSeconds: number;
  readonly memoryBytes: number;
  readonly virtualBytes: number | null;
  readonly openFds: number | null;
  readonly maxFds: number | null;
}

interface ProcessMetricsDeps {
  readonly readFile?: ReadFile;
  /** Names in a directory; throws when it cannot be read. */
  readonly list?: (path: string) => readonly string[];
}

/** Reads three small things of /proc/self (proc(5)): below a millisecond. */
export function readProcessMetrics({
  readFile = readSystemFile,
  list = readdirSync,
}: ProcessMetricsDeps = {}): ProcessMetrics {
  const { user, system } = process.cpuUsage();
  const virtualKilobytes = fieldIn(readFile("/proc/self/status") ?? "", "VmSize");
  const limit = /^Max open files\s+(\d+)/m.exec(readFile("/proc/self/limits") ?? "")?.[1];
  return {
    cpuSeconds: (user + system) / 1e6,
    memoryBytes: process.memoryUsage.rss(),
    virtualBytes: virtualKilobytes === null ? null : virtualKilobytes * 1024,
    openFds: countOf(list),
    maxFds: limit === undefined ? null : Number(limit),
  };
}

function countOf(list: (path: string) => readonly string[]): number | null {
  try {
    // Without the one that reading the directory takes.
    return list("/proc/self/fd").length - 1;
  } catch {
    return null;
  }
}

/** Percentages 0–100 with two decimals; null where the host does not tell. */
export interface HostSample {
  /** Share of CPU time since the last sample. */
  readonly cpu: number | null;
  /** Share of memory that could not be given to a new process. */
  readonly memory: number | null;
  /** Share of the file system of the directory, as df counts it: without the blocks kept for root. */
  readonly disk: number | null;
}

interface HostMetrics {
  /** Reads half a dozen small files: well below a millisecond. Each call begins the time of the next `cpu`. */
  sample(): HostSample;
}

/** Blocks of a file system, as statfs(2) tells them; throws when it cannot. */
type StatFs = (path: string) => {
  readonly blocks: number;
  readonly bfree: number;
  readonly bavail: number;
};

export interface HostMetricsDeps {
  /** A directory on the file system to watch: where licmond stores. */
  readonly directory: string;
  readonly clock?: Clock;
  readonly readFile?: ReadFile;
  readonly statFs?: StatFs;
  /** For systems without /proc. */
  readonly portable?: {
    readonly cpu: PortableCpuTime;
    memory(): { readonly total: number; readonly free: number };
  };
}

/**
 * CPU, memory and disk of the host, or of the container where it is limited to less than the host has.
 * Linux tells it in /proc and /sys; elsewhere `node:os` does.
 */
export function createHostMetrics(deps: HostMetricsDeps): HostMetrics {
  const readFile = deps.readFile ?? readSystemFile;
  const statFs = deps.statFs ?? statfsSync;
  const container = createContainerLimits(readFile);
  const portableMemory = deps.portable?.memory ?? (() => ({ total: totalmem(), free: freemem() }));
  const cpu = createCpuMeter({
    readFile,
    container,
    clock: deps.clock ?? systemClock,
    ...(deps.portable !== undefined && { portable: deps.portable.cpu }),
  });
  return {
    sample: () => ({
      cpu: cpu(),
      memory: readMemory(readFile, container, portableMemory),
      disk: readDisk(statFs, deps.directory),
    }),
  };
}

function readMemory(
  readFile: ReadFile,
  container: ContainerLimits,
  portable: () => { readonly total: number; readonly free: number },
): number | null {
  const host = readHostMemory(readFile) ?? portable();
  const limited = container.memory();
  if (limited !== null && limited.limit < host.total) return percent(limited.used, limited.limit);
  return percent(host.total - host.free, host.total);
}

/** Bytes, from /proc/meminfo (proc(5)); kernels before 3.14 have no MemAvailable. */
function readHostMemory(readFile: ReadFile): { total: number; free: number } | null {
  const text = readFile("/proc/meminfo");
  if (text === null) return null;
  const total = fieldIn(text, "MemTotal");
  const old = () => {
    const parts = ["MemFree", "Buffers", "Cached"].map((name) => fieldIn(text, name));
    return parts.includes(null) ? null : parts.reduce<number>((sum, part) => sum + (part ?? 0), 0);
  };
  const free = fieldIn(text, "MemAvailable") ?? old();
  return total === null || free === null ? null : { total: total * 1024, free: free * 1024 };
}

function readDisk(statFs: StatFs, directory: string): number | null {
  try {
    const { blocks, bfree, bavail } = statFs(directory);
    const used = blocks - bfree;
    return percent(used, used + bavail);
  } catch {
    // The directory is not there (yet) or its file system tells nothing: unknown.
    return null;
  }
}

function percent(part: number, whole: number): number | null {
  if (!(whole > 0) || !Number.isFinite(part)) return null;
  return Math.round(Math.min(1, Math.max(0, part / whole)) * 10_000) / 100;
}
