import { readdirSync } from "node:fs";
import { fieldIn, type ReadFile, readSystemFile } from "./host-files.ts";

/** What the system tells of this process; null where it does not (no /proc). */
export interface ProcessMetrics {
  /** User and system time since the start. */
  readonly cpuSeconds: number;
  readonly memoryBytes: number;
  readonly virtualBytes: number | null;
  readonly openFds: number | null;
  readonly maxFds: number | null;
}

export interface ProcessMetricsDeps {
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
