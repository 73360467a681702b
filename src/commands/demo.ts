import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type Command, InvalidArgumentError } from "commander";
import type { Config } from "../config/config.ts";
import { parseDuration } from "../domain/duration.ts";
import type { Log } from "../domain/log.ts";
import { hostZone } from "../domain/zone.ts";
import { listenToSignals } from "../system/signals.ts";
import { withConfigOption } from "./config-option.ts";
import { type CommandIo, EXIT_FAILURE } from "./io.ts";

const DEFAULT_PORT = 8080;
const DEFAULT_SEED = 1;
const DEFAULT_DAYS = 30;
const MAX_DAYS = 365;
const KEY_NAME = "demo";

/** What the command needs of the rest of the program. */
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

export interface DemoOptions {
  readonly host: string;
  /** Undefined: {@link DEFAULT_PORT}, or a free one when it is taken. */
  readonly port?: number;
  /** Undefined: a temporary one that goes with the demo. */
  readonly directory?: string;
  readonly seed: number;
  /** Between two polls of a server, e.g. `10s`. */
  readonly interval: string;
  /** Days of history to begin with. */
  readonly history: number;
}

/**
 * `licmond demo`: the whole daemon on built-in simulated license servers, with an admin key of its own.
 * Tests give it another daemon and another end.
 */
export function registerDemo(
  program: Command,
  { out, err, terminal }: Pick<CommandIo, "out" | "err" | "terminal">,
  given: Partial<DemoDeps> = {},
): void {
  const deps: DemoDeps = {
    createDaemon: realDaemon,
    makeHistory: (config, options, goOn) => realHistory(config, options, goOn, { err, terminal }),
    writeLogs: (config, options) => realLogs(config, options, err),
    listenForEnd: listenForSignal,
    ...{ out, err },
    ...given,
  };
  withConfigOption(program.command("demo"))
    .summary("Runs the whole daemon on simulated license servers.")
    .description(
      "Runs the whole daemon on built-in simulated license servers, with a month of history. Prints its address and an admin key; Ctrl-C ends it.",
    )
    .option("--port <port>", `port to listen on (default ${DEFAULT_PORT}, or a free one)`, integer(0, 65_535))
    .option("--host <address>", "address to listen on", "127.0.0.1")
    .option(
      "--directory <directory>",
      "keep the data here (default: a temporary directory, removed at the end)",
    )
    .option("--seed <number>", "another seed is another site", integer(0, 999_999_999), DEFAULT_SEED)
    .option("--interval <duration>", "time between two polls of a server", interval, "10s")
    .option(
      "--history <days>",
      "days of history that a fresh directory begins with",
      integer(0, MAX_DAYS),
      DEFAULT_DAYS,
    )
    .addHelpText("after", "\nExample:\n  licmond demo --port 9000 --interval 5s")
    .action(async (options: DemoOptions) => {
      try {
        await runDemo(options, deps);
      } catch (error) {
        const { StoreError } = await import("../store/store-error.ts");
        throw error instanceof StoreError
          ? new Error(`${error.message}. ${error.fix}`, { cause: error })
          : error;
      }
    });
}

async function realHistory(
  config: Config,
  { history: days, seed }: DemoOptions,
  goOn: () => boolean,
  io: Pick<CommandIo, "err" | "terminal">,
): Promise<void> {
  if (days === 0) return;
  const { makeDemoHistory } = await import("./demo-history.ts");
  const { createProgress } = await import("./progress.ts");
  const begun = performance.now();
  const progress = createProgress(`Making ${days} days of history`, io);
  const tell = (message: string) => io.err(`${message}\n`);
  const made = await makeDemoHistory({
    ...{ config, seed, days, now: Date.now() },
    log: { debug() {}, info() {}, warn: tell, error: tell },
    progress(done) {
      progress.at(done);
      return goOn();
    },
  });
  const seconds = ((performance.now() - begun) / 1000).toFixed(1);
  if (made === "made") progress.end(`Made ${days} days of history in ${seconds} s`);
  else progress.end(made === "broken off" ? "Broken off" : "There is history already: it stays as it is");
}

async function realLogs(
  { servers }: Config,
  { seed }: DemoOptions,
  err: (text: string) => void,
): Promise<LogWriting> {
  const { createDemoLogs, createLogWriting } = await import("./demo-logs.ts");
  return createLogWriting(createDemoLogs(servers, seed, Date.now()), err);
}

async function realDaemon(config: Config): Promise<DemoDaemon> {
  const { createDaemon } = await import("../daemon.ts");
  return createDaemon(config);
}

/** Runs until the end is wanted. Throws an Error whose message says what to do when it cannot start. */
export async function runDemo(options: DemoOptions, deps: DemoDeps): Promise<void> {
  const temporary = options.directory === undefined;
  const directory = resolve(options.directory ?? (await mkdtemp(join(tmpdir(), "licmond-demo-"))));
  try {
    const wanted = options.port ?? DEFAULT_PORT;
    const port = await choosePort(options.host, wanted, options.port !== undefined);
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

/** The config that a file of this content would give: every simulated server, asked through `licmond simulate`. */
export async function demoConfig(
  options: DemoOptions & { readonly port: number; readonly directory: string },
): Promise<Config> {
  const { buildConfig } = await import("../config/build.ts");
  const { SERVERS } = await import("../simulator/servers.ts");
  const { demoLogFile } = await import("./demo-logs.ts");
  const timezone = hostZone();
  return buildConfig(
    {
      http: { host: options.host, port: options.port },
      storage: { directory: options.directory },
      collector: { interval: options.interval },
      servers: SERVERS.map(({ id, name, manager, address, labels, debugLog }) => ({
        id,
        name,
        manager,
        address,
        labels: { ...labels },
        timezone,
        ...(debugLog && { log_file: demoLogFile(options.directory, id) }),
        tool: [
          ...ownProgram(),
          "simulate",
          manager,
          ...["--server", id, "--seed", String(options.seed), "--timezone", timezone],
        ],
      })),
    },
    {},
  );
}

/** argv prefix that runs this very program: the binary, or Bun with the source. */
export function ownProgram(): readonly string[] {
  return Bun.isStandaloneExecutable
    ? [process.execPath]
    : [process.execPath, join(import.meta.dir, "../main.ts")];
}

/** Ctrl-C or `kill`; a second one ends the process at once. */
function listenForSignal(): DemoEnd {
  const { promise, resolve } = Promise.withResolvers<string>();
  const quit = listenToSignals({ stop: resolve, exitNow: () => process.exit(EXIT_FAILURE), reload() {} });
  return { wanted: promise, quit };
}

/** The wanted port if it is free or there is no choice (the daemon then says what is wrong), else a free one. */
async function choosePort(host: string, wanted: number, given: boolean): Promise<number> {
  const free = await firstFree(host, given ? [wanted] : [wanted, 0]);
  return free ?? wanted;
}

async function firstFree(hostname: string, ports: readonly number[]): Promise<number | null> {
  for (const port of ports) {
    try {
      const probe = Bun.listen({ hostname, port, socket: { data() {} } });
      const found = probe.port;
      probe.stop(true);
      return found;
    } catch {
      // Taken, or not to be had at all: listening in earnest tells which.
    }
  }
  return null;
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

function integer(from: number, to: number) {
  return (text: string): number => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= from && value <= to) return value;
    throw new InvalidArgumentError(`expected an integer from ${from} to ${to}`);
  };
}

function interval(text: string): string {
  const ms = parseDuration(text);
  if (ms !== null && ms >= 5_000 && ms <= 86_400_000) return text;
  throw new InvalidArgumentError("expected a duration from 5s to 24h, e.g. 10s");
}
