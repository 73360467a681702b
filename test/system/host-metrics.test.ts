import { describe, expect, test } from "bun:test";
import { tmpdir } from "node:os";
import { createHostMetrics, type HostMetricsDeps } from "../../src/system/host-metrics.ts";

const MiB = 1024 * 1024;

/** /proc/stat of two CPUs that were busy and idle for so many ticks. */
const stat = (busy: number, idle: number) =>
  `cpu  ${busy} 0 0 ${idle} 0 0 0 0 0 0\ncpu0 1 0 0 1 0 0 0 0 0 0\ncpu1 1 0 0 1 0 0 0 0 0 0\nintr 5\n`;
const meminfo = (available: string) =>
  `MemTotal:        1000000 kB\nMemFree:          100000 kB\n${available}Buffers:           50000 kB\nCached:           150000 kB\nSwapCached:            0 kB\n`;

function host(files: Record<string, string>, rest: Partial<HostMetricsDeps> = {}) {
  const clock = { at: 1_000_000, now: () => clock.at };
  const metrics = createHostMetrics({
    directory: "/data",
    clock,
    readFile: (path) => files[path] ?? null,
    statFs: () => ({ blocks: 1000, bfree: 400, bavail: 350 }),
    ...rest,
  });
  return { metrics, clock, files };
}

describe("cpu", () => {
  test("is the share of the time since the last sample", () => {
    const { metrics, files } = host({ "/proc/stat": stat(1000, 9000) });
    files["/proc/stat"] = stat(1030, 9070);
    expect(metrics.sample().cpu).toBe(30);
    files["/proc/stat"] = stat(1031, 9072);
    expect(metrics.sample().cpu).toBe(33.33);
  });

  test("a call between two ticks repeats the last answer, the very first is the average since boot", () => {
    const { metrics, files } = host({ "/proc/stat": stat(1000, 9000) });
    expect(metrics.sample().cpu).toBe(10);
    files["/proc/stat"] = stat(1050, 9050);
    expect(metrics.sample().cpu).toBe(50);
    expect(metrics.sample().cpu).toBe(50);
  });

  test("waiting for a disk is no work, time of guests is not counted twice", () => {
    const { metrics, files } = host({ "/proc/stat": "cpu  0 0 0 0 0 0 0 0 0 0\n" });
    files["/proc/stat"] = "cpu  20 0 10 30 40 0 0 0 20 0\n";
    expect(metrics.sample().cpu).toBe(30);
  });

  test("counters that go back give no nonsense", () => {
    const { metrics, files } = host({ "/proc/stat": stat(1000, 9000) });
    files["/proc/stat"] = stat(1050, 9050);
    expect(metrics.sample().cpu).toBe(50);
    files["/proc/stat"] = stat(10, 10);
    expect(metrics.sample().cpu).toBeNull();
    files["/proc/stat"] = stat(30, 90);
    expect(metrics.sample().cpu).toBe(20);
  });

  test.each(["", "cpu\n", "cpu a b c d\n", "intr 5\n"])("%j tells nothing", (text) => {
    expect(host({ "/proc/stat": text }).metrics.sample().cpu).toBeNull();
  });
});

describe("cpu in a container", () => {
  test("is the share of what it may use", () => {
    const files = (usedMillis: number) => ({
      "/sys/fs/cgroup/cpu.max": "50000 100000\n",
      "/sys/fs/cgroup/cpu.stat": `usage_usec ${usedMillis * 1000}\nuser_usec 1\n`,
    });
    const { metrics, clock, files: tree } = host({ "/proc/stat": stat(1000, 9000), ...files(700) });
    expect(metrics.sample().cpu).toBeNull();
    clock.at += 2000;
    Object.assign(tree, { "/proc/stat": stat(1001, 9399), ...files(1450) });
    // 750 ms of the 1000 ms that half a CPU has in two seconds.
    expect(metrics.sample().cpu).toBe(75);
  });

  test.each([
    ["no limit", "max 100000\n"],
    ["more than the host has", "400000 100000\n"],
  ])("%s: the host's", (_, max) => {
    const { metrics, files } = host({
      "/proc/stat": stat(1000, 9000),
      "/sys/fs/cgroup/cpu.max": max,
      "/sys/fs/cgroup/cpu.stat": "usage_usec 5\n",
    });
    files["/proc/stat"] = stat(1030, 9070);
    expect(metrics.sample().cpu).toBe(30);
  });
});

describe("memory", () => {
  test("is what could not be given to a new process", () => {
    expect(host({ "/proc/meminfo": meminfo("MemAvailable:     400000 kB\n") }).metrics.sample().memory).toBe(
      60,
    );
  });

  const MEMORY = { "/proc/meminfo": meminfo("MemAvailable: 400000 kB\n") };

  test("of a container's limit, without the cache it can drop", () => {
    const tree = {
      "/sys/fs/cgroup/memory.max": `${512 * MiB}\n`,
      "/sys/fs/cgroup/memory.current": `${384 * MiB}\n`,
      "/sys/fs/cgroup/memory.stat": `file 5\ninactive_file ${128 * MiB}\n`,
    };
    expect(host({ ...MEMORY, ...tree }).metrics.sample().memory).toBe(50);
  });

  test.each(["max", String(2 ** 62)])("of a container that may use %s is the host's", (limit) => {
    const tree = { "/sys/fs/cgroup/memory.max": `${limit}\n`, "/sys/fs/cgroup/memory.current": "5\n" };
    expect(host({ ...MEMORY, ...tree }).metrics.sample().memory).toBe(60);
  });

  test("of a limit that systemd sets for our own unit is the host's", () => {
    const path = "/sys/fs/cgroup/system.slice/licmond.service";
    const tree = { [`${path}/memory.max`]: `${100 * MiB}\n`, [`${path}/memory.current`]: `${25 * MiB}\n` };
    expect(host({ ...MEMORY, ...tree }).metrics.sample().memory).toBe(60);
  });

  test("nothing known is null", () => {
    expect(host({}).metrics.sample().memory).toBeNull();
  });
});

describe("disk", () => {
  test("as df counts it: blocks kept for root are neither used nor free", () => {
    expect(host({}).metrics.sample().disk).toBe(63.16);
  });

  test("a directory that is not there is unknown", () => {
    const statFs = () => {
      throw new Error("ENOENT");
    };
    expect(host({}, { statFs }).metrics.sample().disk).toBeNull();
    expect(host({}, { statFs: () => ({ blocks: 0, bfree: 0, bavail: 0 }) }).metrics.sample().disk).toBeNull();
  });
});

test("this host tells something", () => {
  const metrics = createHostMetrics({ directory: tmpdir() });
  const { cpu, memory, disk } = metrics.sample();
  for (const value of [cpu, memory, disk]) {
    expect(value === null || (value >= 0 && value <= 100)).toBe(true);
  }
  if (process.platform === "linux") expect(memory).toBeGreaterThan(0);
});
