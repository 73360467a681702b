import { fieldIn, numberIn, type ReadFile } from "./host-files.ts";

/** What the container we run in may use, and has used. Null where it sets no limit or tells nothing. */
export interface ContainerLimits {
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
export function createContainerLimits(readFile: ReadFile): ContainerLimits {
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
