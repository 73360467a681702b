import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { Config } from "../config/config.ts";
import { codeOf } from "../domain/error-code.ts";
import type { Log } from "../domain/log.ts";
import { type DemoOptions, demoConfig } from "./demo-config.ts";

/** Where a demo listens unless told otherwise or the port is taken. */
export const DEFAULT_PORT = 8080;
const KEY_NAME = "demo";

/** What a demo needs of the rest of the program. */
export interface DemoDeps {
  /** The whole daemon: polls, stores and answers from `start` until `stop`. */
  createDaemon(config: Config): Promise<DemoDaemon>;
  /** Fills a fresh directory with the history of so many days; `goOn` says whether somebody still wants it. */
  makeHistory(config: Config, options: DemoOptions, goOn: () => boolean): Promise<void>;
  /** Makes the simulated servers' debug logs. */
  writeLogs(config: Config, options: DemoOptions): Promise<LogWriting>;
  /** Listens for somebody who wants the demo to end (Ctrl-C), until `quit`. */
  listenForEnd(): DemoEnd;
  out(text: string): void;
  err(text: string): void;
}

/** Logs that are written as time passes, from `start` until `stop`. */
export interface LogWriting {
  start(): void;
  stop(): void;
}

export interface DemoEnd {
  readonly wanted: Promise<unknown>;
  quit(): void;
}

export interface DemoDaemon {
  start(): Promise<unknown>;
  stop(): Promise<unknown>;
}

/** Runs until the end is wanted. Throws an Error whose message says what to do when it cannot start. */
export async function runDemo(options: DemoOptions, deps: DemoDeps): Promise<void> {
  const temporary = options.directory === undefined;
  const directory = resolve(options.directory ?? (await mkdtemp(join(tmpdir(), "licmond-demo-"))));
  try {
    const wanted = options.port ?? DEFAULT_PORT;
    const port = choosePort(options.host, wanted, options.port !== undefined);
    const config = await demoConfig({ ...options, port, directory });
    const end = deps.listenForEnd();
    try {
      const unwanted = { yet: false };
      void end.wanted.then(() => {
        unwanted.yet = true;
      });
      await deps.makeHistory(config, options, () => !unwanted.yet);
      if (unwanted.yet) return;
      const logs = await deps.writeLogs(config, options);
      const daemon = await deps.createDaemon(config);
      // It leaves nothing behind when it does not start.
      await daemon.start();
      try {
        // Not before: a demo that runs here already writes them.
        logs.start();
        // Not before: a daemon that runs here already keeps its key, because ours does not start then.
        const key = await makeAdminKey(directory, deps);
        if (options.port === undefined && port !== wanted) {
          deps.out(`Port ${wanted} is taken, so this demo listens on ${port} (--port chooses one).\n`);
        }
        deps.out(welcome(config, { ...options, key, temporary }));
        await end.wanted;
      } finally {
        logs.stop();
        await daemon.stop();
      }
    } finally {
      end.quit();
    }
  } finally {
    if (temporary) await rm(directory, { recursive: true, force: true });
  }
}

/** The wanted port if it is free, else a free one; of a `given` one nothing but itself will do. */
function choosePort(host: string, wanted: number, given: boolean): number {
  try {
    return listenOnce(host, wanted);
  } catch (error) {
    if (!given && codeOf(error) === "EADDRINUSE") return listenOnce(host, 0);
    const why =
      codeOf(error) === "EADDRINUSE"
        ? `another program listens on ${host}:${wanted}; name another --port, or none for a free one`
        : `nothing can listen on ${host}:${wanted} (${codeOf(error)})`;
    throw new Error(why, { cause: error });
  }
}

function listenOnce(hostname: string, port: number): number {
  const probe = Bun.listen({ hostname, port, socket: { data() {} } });
  probe.stop(true);
  return probe.port;
}

/** A key for this run. The one of an earlier run in the same directory cannot be shown again and is revoked. */
async function makeAdminKey(directory: string, { err }: DemoDeps): Promise<string> {
  const { openStore } = await import("../store/open.ts");
  const { createKeys } = await import("../store/keys.ts");
  const { systemClock } = await import("../domain/clock.ts");
  const tell = (message: string) => err(`${message}\n`);
  const log: Log = { debug() {}, info() {}, warn: tell, error: tell };
  const store = openStore({ directory, log, mode: "cli" });
  try {
    const keys = createKeys({ store, clock: systemClock });
    const wanted = {
      name: KEY_NAME,
      role: "admin",
      expiresAt: null,
      anonymize: false,
      dailyQuota: null,
      monthlyQuota: null,
      requestsPerMinute: null,
    } as const;
    let made = keys.create(wanted);
    if (made.outcome === "name-taken") {
      keys.revoke(made.key.id);
      made = keys.create(wanted);
    }
    if (made.outcome !== "created")
      throw new Error(`The key "${KEY_NAME}" could not be made in ${directory}`);
    return made.presented;
  } finally {
    store.close();
  }
}

function welcome(
  { http, storage, servers, collector }: Config,
  { seed, key, temporary }: { readonly seed: number; readonly key: string; readonly temporary: boolean },
): string {
  const url = `http://${shownHost(http.host)}:${http.port}`;
  const curl = (path: string) => `  curl -H 'X-API-Key: ${key}' '${url}${path}'`;
  return `
licmond demo: ${servers.length} simulated license servers (seed ${seed}), polled every ${collector.intervalMs / 1000} s

${servers.map(({ id, name, manager }) => `  ${id.padEnd(10)} ${manager.padEnd(8)} ${name}`).join("\n")}

Address    ${url}
Documents  ${url}/swagger
Admin key  ${key}
Data       ${storage.directory}${temporary ? " (removed at the end)" : ""}

Try:
${curl("/api/licenses/summary")}
${curl("/api/licenses/features?sort=-utilization&limit=5")}
${curl("/api/licenses/users?kind=queued")}
${curl("/api/licenses/denials?limit=5")}

Ctrl-C ends it.
`;
}

/** Where a browser on this machine finds an address that means all of them. */
function shownHost(host: string): string {
  if (host === "0.0.0.0" || host === "") return "127.0.0.1";
  if (host === "::") return "[::1]";
  return host.includes(":") ? `[${host}]` : host;
}
