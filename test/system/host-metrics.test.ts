import { describe, expect, test } from "bun:test";
import { tmpdir } from "node:os";
import { createHostMetrics, type StatFs } from "../../src/system/host-metrics.ts";

const MiB = 1024 * 1024;

/** /proc/stat of two CPUs with these ticks. */
const stat = (busy: number, idle: number) =>
  `cpu  ${busy} 0 0 ${idle} 0 0 0 0 0 0\ncpu0 1 0 0 1 0 0 0 0 0 0\ncpu1 1 0 0 1 0 0 0 0 0 0\nintr 5\n`;
const meminfo = (available: string) =>
  `MemTotal:        1000000 kB\nMemFree:          100000 kB\n${available}Buffers:           50000 kB\nCached:           150000 kB\nSwapCached:            0 kB\n`;

const BLOCKS = { blocks: 1000, bfree: 400, bavail: 350, bsize: 1 };

function host(files: Record<string, string>, statFs: StatFs = () => BLOCKS) {
  const clock = { at: 1_000_000, now: () => clock.at };
  return { metrics: createHostMetrics("/data", clock, (path) => files[path] ?? null, statFs), clock, files };
}

describe("cpu", () => {
  test.each<[string, ...(readonly [string, number | null])[]]>([
    ["is the share of the time since the last sample", [stat(1030, 9070), 30], [stat(1031, 9072), 33.33]],
    [
      "repeats the last answer between two ticks; the first is the average since boot",
      [stat(1000, 9000), 10],
      [stat(1050, 9050), 50],
      [stat(1050, 9050), 50],
    ],
    ["is unknown when counters go back", [stat(1050, 9050), 50], [stat(10, 10), null], [stat(30, 90), 20]],
    [
      "excludes waiting for disks, and guests, which are counted already",
      ["cpu  1000 0 0 9000 0 0 0 0 0 0\n", 10],
      ["cpu  1020 0 10 9030 40 0 0 0 20 0\n", 30],
    ],
  ])("%s", (_, ...samples) => {
    const { metrics, files } = host({ "/proc/stat": stat(1000, 9000) });
    for (const [text, cpu] of samples) {
      files["/proc/stat"] = text;
      expect(metrics.sample().cpu).toBe(cpu);
    }
  });

  test.each(["", "cpu\n", "cpu a b c d\n", "intr 5\n"])("%j gives no share", (text) => {
    expect(host({ "/proc/stat": text }).metrics.sample().cpu).toBeNull();
  });
});

describe("cpu in a container", () => {
  test("is the share of its limit", () => {
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
    ["a limit above the host's CPUs", "400000 100000\n"],
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
  const CONTAINER = "/sys/fs/cgroup";
  const UNIT = "/sys/fs/cgroup/system.slice/licmond.service";

  test.each<[string, string, string, number]>([
    ["is what is not available to a new process", "", "", 60],
    ["in a container refers to its limit, without reclaimable cache", CONTAINER, `${512 * MiB}\n`, 50],
    ["in a container without a limit is the host's", CONTAINER, "max", 60],
    ["in a container with a limit above the host's memory is the host's", CONTAINER, String(2 ** 62), 60],
    ["with a limit of the unit is the host's", UNIT, `${512 * MiB}\n`, 60],
  ])("%s", (_, path, limit, used) => {
    const tree = {
      "/proc/meminfo": meminfo("MemAvailable:     400000 kB\n"),
      [`${path}/memory.max`]: limit,
      [`${path}/memory.current`]: `${384 * MiB}\n`,
      [`${path}/memory.stat`]: `file 5\ninactive_file ${128 * MiB}\n`,
    };
    expect(host(tree).metrics.sample().memory).toBe(used);
  });

  test("unknown memory is null", () => {
    expect(host({}).metrics.sample().memory).toBeNull();
  });
});

const gone: StatFs = () => {
  throw new Error("ENOENT");
};
test.each<[string, StatFs, number | null]>([
  ["as df counts: reserved blocks are neither used nor free", () => BLOCKS, 63.16],
  ["unknown for a missing directory", gone, null],
  ["unknown if the file system reports no size", () => ({ ...BLOCKS, blocks: 0, bfree: 0, bavail: 0 }), null],
])("disk: %s", (_, statFs, used) => {
  expect(host({}, statFs).metrics.sample().disk).toBe(used);
});

test("this host has values", () => {
  const metrics = createHostMetrics(tmpdir());
  const { cpu, memory, disk } = metrics.sample();
  for (const value of [cpu, memory, disk]) {
    expect(value === null || (value >= 0 && value <= 100)).toBe(true);
  }
  if (process.platform === "linux") expect(memory).toBeGreaterThan(0);
});
