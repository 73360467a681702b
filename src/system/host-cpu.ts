import { cpus } from "node:os";
import type { Clock } from "../domain/clock.ts";
import type { ContainerLimits } from "./host-cgroup.ts";
import type { ReadFile } from "./host-files.ts";

/** Time since some beginning in any one unit: all of it, and the part in which a CPU worked. */
interface CpuTime {
  readonly all: number;
  readonly busy: number;
}

/** Times of all CPUs of this process's host, for systems without /proc. */
export type PortableCpuTime = () => CpuTime | null;

export interface CpuDeps {
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
export function createCpuMeter({
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
export function parseProcStat(text: string): CpuTime | null {
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
