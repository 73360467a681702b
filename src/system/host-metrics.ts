import { statfsSync } from "node:fs";
import { freemem, totalmem } from "node:os";
import { type Clock, systemClock } from "../domain/clock.ts";
import { type ContainerLimits, createContainerLimits } from "./host-cgroup.ts";
import { createCpuMeter, type PortableCpuTime } from "./host-cpu.ts";
import { fieldIn, type ReadFile, readSystemFile } from "./host-files.ts";

/** Percentages 0–100 with two decimals; null where the host does not tell. */
export interface HostSample {
  /** Share of CPU time since the last sample. */
  readonly cpu: number | null;
  /** Share of memory that could not be given to a new process. */
  readonly memory: number | null;
  /** Share of the file system of the directory, as df counts it: without the blocks kept for root. */
  readonly disk: number | null;
}

export interface HostMetrics {
  /** Reads half a dozen small files: well below a millisecond. Each call begins the time of the next `cpu`. */
  sample(): HostSample;
}

/** Blocks of a file system, as statfs(2) tells them; throws when it cannot. */
export type StatFs = (path: string) => {
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
