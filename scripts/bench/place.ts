import { chmod, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Path of the measured binary. `LICMOND_BINARY` selects another one, e.g. to compare two. */
export const BINARY = process.env.LICMOND_BINARY ?? join(import.meta.dir, "../../dist/licmond");

/** A daemon with simulated servers in a temporary folder. */
export interface Place extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  readonly key: string;
  /** Script that prints the output for the address in its arguments. */
  readonly tool: string;
  /** Addresses of the servers, in order. */
  readonly addresses: readonly string[];
}

interface PlaceOptions {
  /** Output of the tool for each server. Without outputs, the daemon has no servers. */
  readonly outputs: readonly string[];
  readonly concurrency?: number;
  readonly logLevel?: "info" | "debug";
  /** Maximum number of open streams. */
  readonly streams?: number;
  /** Poll interval; default `1h`. */
  readonly interval?: string;
  /** Additional lines of the config. */
  readonly toml?: string;
  /** Additional environment variables. */
  readonly environment?: Readonly<Record<string, string>>;
}

const ENVIRONMENT = { PATH: "/usr/local/bin:/usr/bin:/bin", TZ: "UTC", LANG: "C.UTF-8" };
const FIRST_PORT = 27_000;
const START_DEADLINE_MS = 20_000;

/** Starts the built binary with fake tools that print the outputs, and waits until it answers. */
export async function startPlace(options: PlaceOptions): Promise<Place> {
  const {
    outputs,
    concurrency = 8,
    logLevel = "info",
    streams = 2_000,
    interval = "1h",
    toml = "",
  } = options;
  const folder = await mkdtemp(join(tmpdir(), "licmond-bench-"));
  const tool = join(folder, "lmutil");
  const config = join(folder, "licmond.toml");
  const port = freePort();
  await mkdir(join(folder, "storage"));
  // The address is the last argument. `exec` replaces the shell, so that the tool is one process, like the
  // real tool.
  await Bun.write(tool, `#!/bin/sh\nfor address; do :; done\nexec cat '${folder}'/"$address"\n`);
  await chmod(tool, 0o755);
  // The name resolves at once and the ports refuse at once, so neither is measured.
  const addresses = outputs.map((_, index) => `${FIRST_PORT + index}@localhost`);
  await Promise.all(outputs.map((output, index) => Bun.write(join(folder, addresses[index] ?? ""), output)));
  await Bun.write(
    config,
    `[http]
host = "127.0.0.1"
port = ${port}

[storage]
directory = "${join(folder, "storage")}"

[collector]
interval = "${interval}"
concurrency = ${concurrency}

[limits]
requests_per_minute = 1000000
burst = 100000
anonymous_per_minute = 1000000
streams = ${streams}
streams_per_key = ${streams}

[log]
level = "${logLevel}"
${toml}
${addresses
  .map(
    (address, index) =>
      `[[servers]]\nid = "s${index}"\nmanager = "flexnet"\naddress = "${address}"\ntool = "${tool}"\n`,
  )
  .join("\n")}`,
  );

  const daemon = Bun.spawn([BINARY, "serve", "--config", config], {
    cwd: folder,
    env: { ...ENVIRONMENT, ...options.environment },
    stdin: "ignore",
    stdout: Bun.file(join(folder, "log")),
    stderr: Bun.file(join(folder, "errors")),
  });
  const dispose = async () => {
    daemon.kill("SIGTERM");
    await daemon.exited;
    await rm(folder, { recursive: true, force: true });
  };
  const url = `http://127.0.0.1:${port}`;
  try {
    await untilAnswers(`${url}/api/ping`, () => daemon.exitCode !== null);
    const created = Bun.spawnSync(
      [BINARY, "keys", "create", "--name", "bench", "--role", "admin", "--config", config],
      { env: ENVIRONMENT },
    );
    if (!created.success) throw new Error(`keys create: ${created.stderr}`);
    const key = created.stdout.toString().trim();
    return { url, port, pid: daemon.pid, key, tool, addresses, [Symbol.asyncDispose]: dispose };
  } catch (cause) {
    const said = `${await Bun.file(join(folder, "log")).text()}${await Bun.file(join(folder, "errors")).text()}`;
    await dispose();
    throw new Error(`licmond did not start: ${String(cause)}\n${said}`);
  }
}

/** Polls every server (or the named ones) once and waits. Throws if a poll fails. */
export async function rescan(place: Place, servers?: readonly string[]): Promise<void> {
  const response = await fetch(`${place.url}/api/licenses/rescan`, {
    method: "POST",
    headers: { "X-API-Key": place.key, "content-type": "application/json" },
    ...(servers !== undefined && { body: JSON.stringify({ servers }) }),
  });
  const body = await response.text();
  if (!response.ok || body.includes('"failed"'))
    throw new Error(`rescan: ${response.status} ${body.slice(0, 500)}`);
}

/** Runs a script of this folder that serves on the port in its first argument, and waits until it answers. */
export async function startScript(name: string, ...args: readonly string[]) {
  const port = freePort();
  const server = Bun.spawn([process.execPath, join(import.meta.dir, name), String(port), ...args], {
    stdin: "ignore",
    stdout: "inherit",
    stderr: "inherit",
  });
  const dispose = async () => {
    server.kill();
    await server.exited;
  };
  try {
    await untilAnswers(`http://127.0.0.1:${port}/`, () => server.exitCode !== null);
    return { port, pid: server.pid, [Symbol.asyncDispose]: dispose };
  } catch (cause) {
    await dispose();
    throw cause;
  }
}

function freePort(): number {
  const listener = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  const { port } = listener;
  listener.stop(true);
  return port;
}

export async function untilAnswers(url: string, ended: () => boolean): Promise<void> {
  const deadline = performance.now() + START_DEADLINE_MS;
  for (;;) {
    if (ended()) throw new Error("it ended");
    try {
      if ((await fetch(url)).ok) return;
    } catch {
      // Not listening yet.
    }
    if (performance.now() > deadline) throw new Error(`no answer within ${START_DEADLINE_MS} ms`);
    await Bun.sleep(20);
  }
}
