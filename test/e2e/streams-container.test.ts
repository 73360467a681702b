import { expect, test } from "bun:test";
import { mkdir, readFile, rmdir, writeFile } from "node:fs/promises";
import { totalmem } from "node:os";
import { BINARY, until } from "./harness.ts";
import { npmEventSource } from "./stream-clients.ts";
import { createStreamSite, publish } from "./stream-site.ts";

const MEMORY_LIMIT = 256 * 1024 * 1024;
const CPUS = 0.5;
const ROOT = "/sys/fs/cgroup";

/** Control groups of ours with half a CPU and 256 MB, below those that we are in; named as an engine would. */
async function createLimits(): Promise<{ folders: string[] } & AsyncDisposable> {
  const folders: string[] = [];
  const groups = new Map<string, string>();
  for (const line of (await readFile("/proc/self/cgroup", "utf8")).trim().split("\n")) {
    const [, controllers = "", path = "/"] = line.split(":");
    for (const controller of controllers.split(",")) groups.set(controller, path);
  }
  const make = async (controller: string, files: Readonly<Record<string, string>>) => {
    const folder = `${ROOT}/${controller}${groups.get(controller) ?? "/"}/docker-licmond-${process.pid}`;
    await mkdir(folder);
    folders.push(folder);
    for (const [file, text] of Object.entries(files)) await writeFile(`${folder}/${file}`, text);
  };
  const limits = {
    folders,
    async [Symbol.asyncDispose]() {
      for (const folder of folders) {
        // Until the kernel has buried the last process of it.
        await until("the control group is empty", async () => {
          try {
            await rmdir(folder);
            return true;
          } catch {
            return undefined;
          }
        });
      }
    },
  };
  try {
    if (!groups.has("memory"))
      throw new Error("this system has no cgroup v1, which is what this test can make");
    await make("memory", { "memory.limit_in_bytes": String(MEMORY_LIMIT) });
    await make("cpu", { "cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": String(CPUS * 100_000) });
    await make("cpuacct", {});
  } catch (error) {
    await limits[Symbol.asyncDispose]();
    throw error;
  }
  return limits;
}

async function mayLimit(): Promise<boolean> {
  try {
    await (await createLimits())[Symbol.asyncDispose]();
    return true;
  } catch (error) {
    console.error(`the test in a container's limits is skipped: ${String(error)}`);
    return false;
  }
}

const MAY_LIMIT = await mayLimit();

test.skipIf(!MAY_LIMIT)(
  "in a container, CPU and memory are shares of what the container may use",
  async () => {
    await using limits = await createLimits();
    await using site = await createStreamSite();
    const enter = 'for folder; do [ "$folder" = -- ] && break; echo $$ > "$folder/cgroup.procs"; done';
    const child = Bun.spawn(
      [
        "sh",
        "-c",
        `${enter}; exec '${BINARY}' serve --config '${site.config}'`,
        "sh",
        ...limits.folders,
        "--",
      ],
      { cwd: "/", env: { PATH: "/usr/bin:/bin" }, stdin: "ignore", stdout: "ignore", stderr: "ignore" },
    );
    try {
      const url = `http://127.0.0.1:${site.port}`;
      await until("licmond answers", async () => {
        const answer = await fetch(`${url}/api/ping`).catch(() => null);
        return answer?.ok || undefined;
      });
      const key = await site.key("viewer");
      const metrics = npmEventSource(`${url}/stream/metrics?interval=250&api_key=${key}`, ["metrics"]);
      const [memoryFolder = "", , accountFolder = ""] = limits.folders;
      const kernelSays = async (file: string) => Number(await readFile(file, "utf8"));
      const used = await kernelSays(`${memoryFolder}/memory.usage_in_bytes`);
      // More than half a CPU's work, where nobody else wants the CPUs: the whole of the container, a quarter or less of
      // any host it runs on. What it got in truth is the kernel's to say.
      await until("metrics come", () => metrics.seen.length > 0 || undefined);
      const [startedAt, before] = [performance.now(), await kernelSays(`${accountFolder}/cpuacct.usage`)];
      await publish({ url }, { tag: "load", count: 6_000 });
      const spentMs = ((await kernelSays(`${accountFolder}/cpuacct.usage`)) - before) / 1e6;
      const share = Math.min(100, (100 * spentMs) / (performance.now() - startedAt) / CPUS);
      const sampled = metrics.seen.length;
      await until("the last of it is told", () => metrics.seen.length > sampled + 1 || undefined);
      metrics.close();
      const samples = metrics.seen.map(({ data }) => data.system as { cpu: number; memory: number });
      const busiest = Math.max(...samples.map(({ cpu }) => cpu ?? 0));
      const memory = samples.at(-1)?.memory ?? 0;
      console.log(
        `in half a CPU and 256 MB: cpu ${busiest} % (${share.toFixed(0)} % on average), memory ${memory} % (${(used / 1e6).toFixed(0)} MB)`,
      );
      // The busiest moment is no less than the average; the host's share would be a half of it at the most.
      expect(busiest).toBeGreaterThan(0.8 * share);
      expect(memory).toBeGreaterThan(Math.min(10, (300 * used) / totalmem()));
      expect(memory).toBeLessThan(100);
    } finally {
      child.kill("SIGKILL");
      await child.exited;
    }
  },
);
