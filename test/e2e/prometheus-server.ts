import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { freePort, until } from "./harness.ts";

/** `scripts/lib/packages.sh` unpacks Prometheus if it is not installed. */
const FOLDERS = [join(import.meta.dir, "../../.cache/prometheus"), "/usr/bin"];
const FOLDER = FOLDERS.find((folder) =>
  ["prometheus", "promtool"].every((name) => existsSync(join(folder, name))),
);
export const HAS_PROMETHEUS = FOLDER !== undefined;

const ENVIRONMENT = { PATH: "/usr/bin:/bin", LANG: "C.UTF-8", TZ: "UTC" };

/** A series of an instant query. */
export interface Found {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: number;
}

/** A Prometheus with its own database. Disposing stops it. */
export interface Prometheus extends AsyncDisposable {
  readonly url: string;
  /** Runs an instant query at epoch seconds, or now. Throws Prometheus' errors. */
  query(expression: string, at?: number): Promise<Found[]>;
}

/** `config` is the whole config file. */
export async function startPrometheus(folder: string, config: string): Promise<Prometheus> {
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
    { cwd: folder, env: ENVIRONMENT, stdin: "ignore", stdout: log, stderr: log },
  );
  await until("Prometheus is ready", async () => {
    if (child.exitCode !== null) throw new Error(`Prometheus ended: ${await log.text()}`);
    return (await fetch(`${url}/-/ready`).catch(() => null))?.ok || undefined;
  });

  const ask = async (path: string, parameters: Record<string, string>): Promise<unknown> => {
    const response = await fetch(`${url}${path}?${new URLSearchParams(parameters)}`);
    const body = (await response.json()) as { status: string; error?: string; data: unknown };
    if (body.status !== "success") throw new Error(`${parameters.query}: ${body.error}`);
    return body.data;
  };

  return {
    url,
    async query(query, at) {
      const data = (await ask("/api/v1/query", {
        query,
        ...(at !== undefined && { time: String(at) }),
      })) as { result: { metric: Record<string, string>; value: [number, string] }[] };
      return data.result.map(({ metric, value }) => ({ metric, value: Number(value[1]) }));
    },
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.exited;
    },
  };
}

export interface Promtool {
  readonly exitCode: number;
  readonly output: string;
}

/** Runs promtool. */
export async function promtool(args: readonly string[], cwd: string, stdin = ""): Promise<Promtool> {
  const child = Bun.spawn([join(FOLDER ?? "", "promtool"), ...args], {
    cwd,
    env: ENVIRONMENT,
    stdin: new Blob([stdin]),
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, err, exitCode] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { exitCode, output: out + err };
}
