/** Returns the `q` quantile (0–1) of the samples. */
export function quantile(samples: readonly number[], q: number): number {
  const sorted = [...samples].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? Number.NaN;
}

export function median(samples: readonly number[]): number {
  return quantile(samples, 0.5);
}

/**
 * Returns the median times in ms over `rounds` rounds, after a warm-up. Each round runs every work once, so that other load
 * on the machine affects all works.
 */
export async function medianTimes(rounds: number, works: readonly (() => unknown)[]): Promise<number[]> {
  const samples: number[][] = works.map(() => []);
  for (let round = 0; round <= rounds; round++) {
    for (const [index, work] of works.entries()) {
      Bun.gc(true);
      const startedAt = performance.now();
      await work();
      const ms = performance.now() - startedAt;
      if (round > 0) samples[index]?.push(ms);
    }
  }
  return samples.map(median);
}

/**
 * Runs both works alternately for some rounds, so that other load on the machine affects both. Drops the
 * results of the warm-ups.
 */
export async function inTurns<T>(
  rounds: number,
  warmUps: number,
  ours: (round: number) => Promise<T>,
  baseline: (round: number) => Promise<T>,
): Promise<{ readonly ours: readonly T[]; readonly baseline: readonly T[] }> {
  const results = { ours: [] as T[], baseline: [] as T[] };
  for (let round = 0; round < warmUps + rounds; round++) {
    const [one, other] = [await ours(round), await baseline(round)];
    if (round < warmUps) continue;
    results.ours.push(one);
    results.baseline.push(other);
  }
  return results;
}

/** Returns the longest time in ms that the event loop was blocked during the work. */
export async function longestStall(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let last = performance.now();
  const beat = () => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
  };
  const timer = setInterval(beat, 1);
  await work();
  beat();
  clearInterval(timer);
  return longest;
}

/** Ticks per second in /proc, fixed by Linux's ABI. */
const TICKS = 100;

/** Returns the CPU seconds of a process and its finished children. */
export async function cpuSeconds(pid: number | "self"): Promise<number> {
  const stat = await Bun.file(`/proc/${pid}/stat`).text();
  // The name may contain spaces, so count from its closing parenthesis. proc(5): utime is field 14, cstime 17.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return fields.slice(11, 15).reduce((total, ticks) => total + Number(ticks) / TICKS, 0);
}

/** Returns resident memory in MB: all of it, and the part that is not mapped from files. */
export async function residentMegabytes(pid: number): Promise<{ all: number; own: number }> {
  const status = await Bun.file(`/proc/${pid}/status`).text();
  const kilobytes = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(status)?.[1]);
  return { all: kilobytes("VmRSS") / 1000, own: kilobytes("RssAnon") / 1000 };
}
