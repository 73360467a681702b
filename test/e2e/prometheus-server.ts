import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { freePort, run, until } from "./harness.ts";

/** Folders that may contain Prometheus. `scripts/lib/packages.sh` unpacks it if it is not installed. */
const FOLDERS = [join(import.meta.dir, "../../.cache/prometheus"), "/usr/bin"];
const FOLDER = FOLDERS.find((folder) =>
  ["prometheus", "promtool"].every((name) => existsSync(join(folder, name))),
);
export const HAS_PROMETHEUS = FOLDER !== undefined;

type Vector = { readonly metric: Readonly<Record<string, string>>; readonly value: [number, string] };
export type Prometheus = Awaited<ReturnType<typeof startPrometheus>>;

/** Starts a Prometheus with its own database. `config` is the whole config file. */
export async function startPrometheus(folder: string, config: string) {
  const file = join(folder, "prometheus.yml");
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  await mkdir(join(folder, "prometheus"), { recursive: true });
  await Bun.write(file, config);
  const log = Bun.file(join(folder, "prometheus.log"));
  const child = Bun.spawn(
    [
      join(FOLDER ?? "", "prometheus"),
      `--config.file=${file}`,
      `--storage.tsdb.path=${join(folder, "prometheus")}`,
      `--web.listen-address=127.0.0.1:${port}`,
      "--web.enable-remote-write-receiver",
    ],
    { cwd: folder, env: { PATH: "/usr/bin:/bin", TZ: "UTC" }, stdin: "ignore", stdout: log, stderr: log },
  );
  await until("Prometheus is ready", async () => {
    if (child.exitCode !== null) throw new Error(`Prometheus ended: ${await log.text()}`);
    return (await fetch(`${url}/-/ready`).catch(() => null))?.ok || undefined;
  });
  return {
    url,
    /** Runs an instant query. Throws Prometheus' errors. */
    async query(query: string) {
      const response = await fetch(`${url}/api/v1/query?${new URLSearchParams({ query })}`);
      const body = (await response.json()) as { status: string; error?: string; data: { result: Vector[] } };
      if (body.status !== "success") throw new Error(`${query}: ${body.error}`);
      return body.data.result.map(({ metric, value }) => ({ metric, value: Number(value[1]) }));
    },
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.exited;
    },
  };
}

export async function promtool(args: readonly string[], cwd: string, stdin = "") {
  const program = [join(FOLDER ?? "", "promtool")];
  const { exitCode, stdout, stderr } = await run(args, { program, cwd, stdin });
  return { exitCode, output: stdout + stderr };
}
