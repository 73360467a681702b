import { existsSync, rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { Config } from "../../config/config.ts";
import { parseDuration, parseMomentOfWeek, systemClock } from "../../domain/time/clock.ts";
import { hostZone } from "../../domain/time/zone.ts";
import { aheadFor } from "../../simulator/calendar.ts";
import { createKeys } from "../../store/keys.ts";
import { openStore } from "../../store/open/open.ts";
import { type Command, command, flag, integer, option, optionOr, reader, text } from "../command.ts";
import { type CommandIo, EXIT_FAILURE, listenToSignals, UsageError, warningsOn } from "../io.ts";
import { reachableHost } from "../serve.ts";
import { demoSite } from "./demo-site.ts";
import type { DemoFleet, FleetOptions, startFleet } from "./fleet.ts";
import { choosePort, type DemoDaemon, freshKey, makeHistory, signInLink, startSite } from "./start-site.ts";

const DEFAULT_PORT = 8080;

/** Dependencies of a demo; tests replace the daemon and the end. */
export type DemoDeps = typeof REAL;

const REAL = {
  /** Creates the daemon, which runs from `start` until `stop`. */
  createDaemon: async (config: Config): Promise<DemoDaemon> =>
    (await import("../../daemon.ts")).createDaemon(config),
  startFleet: async (...given: Parameters<typeof startFleet>): Promise<DemoFleet | null> =>
    (await import("./fleet.ts")).startFleet(...given),
  makeHistory,
  signInLink,
  /**
   * Returns a promise `wanted` that resolves on Ctrl-C or `kill`, until `quit` is called. A second signal
   * exits at once.
   */
  listenForEnd() {
    const { promise: wanted, resolve: stop } = Promise.withResolvers<unknown>();
    const quit = listenToSignals({ stop, exitNow: () => process.exit(EXIT_FAILURE), reload() {} });
    return { wanted, quit };
  },
};

const within = (from: number, to: number) => integer(from, to, `expected an integer from ${from} to ${to}`);
const interval = reader((text) => {
  const ms = parseDuration(text);
  return ms !== null && ms >= 5_000 && ms <= 86_400_000 ? text : null;
}, "expected a duration from 5s to 24h, e.g. 10s");
const moment = reader(parseMomentOfWeek, 'expected a day and a time, e.g. "Tue 10:30"');

const KEEP = "directory to keep the data in (default: a temporary directory)";
const BEGIN = 'start time of the simulation in the week, e.g. "Tue 10:30" (default: working hours)';

export const demo = demoCommand(REAL);

/** Creates the command. Throws an Error with advice if the demo cannot start. */
export function demoCommand(deps: DemoDeps): Command {
  return command({
    options: {
      port: option("<port>", `port to listen on (default ${DEFAULT_PORT}, or a free one)`, within(0, 65_535)),
      host: optionOr("<address>", "address to listen on", String, "127.0.0.1"),
      directory: text("<directory>", KEEP),
      at: option("<moment>", BEGIN, moment),
      seed: optionOr("<number>", "seed of the simulated site", within(0, 999_999_999), 1),
      interval: optionOr("<duration>", "time between two polls of a server", interval, "10s"),
      history: optionOr("<days>", "days of history in an empty directory", within(0, 365), 30),
      fleet: flag("three sites and a hub, with its own PostgreSQL"),
    },
    async run({ options, config }, io) {
      if (config !== undefined)
        throw new UsageError("the demo uses its own config; run yours with: licmond serve --config FILE");
      const wanted = options.port ?? DEFAULT_PORT;
      const port = choosePort(options.host, wanted, options.port !== undefined);
      const temporary = options.directory === undefined;
      const directory = resolve(options.directory ?? (await mkdtemp(join(tmpdir(), "licmond-demo-"))));
      const end = deps.listenForEnd();
      try {
        const ahead = aheadFor(hostZone(), Date.now(), options.at ?? null);
        let isOver = false;
        void end.wanted.then(() => (isOver = true));
        const goOn = () => !isOver;
        const start = options.fleet ? startAll : startOne;
        const running = await start({ ...options, port, directory, ahead, goOn }, deps, io);
        if (running === null) return;
        try {
          if (port !== wanted && wanted !== 0)
            io.out(`Port ${wanted} is in use; listening on ${port} (choose one with --port).\n`);
          const link = await deps.signInLink(running.url, running.key);
          const data = `${directory}${temporary ? " (removed at the end)" : ""}`;
          io.out(welcome(running, link, data));
          await end.wanted;
        } finally {
          await running.stop();
        }
      } finally {
        end.quit();
        if (temporary) removeAll(directory);
      }
    },
  });
}

/**
 * Removes a directory. Retries until it is gone, because on a busy host a removal ended early while files
 * were still being closed.
 */
function removeAll(directory: string): void {
  for (let tries = 0; existsSync(directory) && tries < 10; tries++)
    rmSync(directory, { recursive: true, force: true });
}

type Wanted = Omit<FleetOptions, "createDaemon">;

interface RunningDemo extends Readonly<Record<"url" | "key" | "title", string>> {
  readonly requests: readonly string[];
  stop(): Promise<void>;
}

const BUSIEST = ["/api/licenses/summary", "/api/licenses/features?sort=-utilization&limit=5"];

/** Starts one daemon with all simulated servers. Returns null if interrupted before it ran. */
async function startOne(wanted: Wanted, deps: DemoDeps, io: CommandIo): Promise<RunningDemo | null> {
  const { history, goOn, host, port, directory, seed } = wanted;
  const demo = demoSite(wanted, wanted.ahead);
  if (history > 0) await deps.makeHistory(demo, history, goOn, io);
  if (!goOn()) return null;
  const stop = await startSite(demo, deps.createDaemon, io);
  const { servers, collector } = demo.config;
  const list = servers.map(({ id, name, manager }) => `  ${id.padEnd(10)} ${manager.padEnd(8)} ${name}`);
  try {
    return {
      url: `http://${reachableHost(host)}:${port}`,
      // Create the key only after the start, which fails if another demo uses the directory. Otherwise the
      // key of that demo would be revoked.
      key: await makeAdminKey(directory, io),
      title: `${servers.length} simulated license servers (seed ${seed}), polled every ${collector.intervalMs / 1000} s\n\n${list.join("\n")}`,
      requests: [...BUSIEST, "/api/licenses/users?kind=queued", "/api/licenses/denials?limit=5"],
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function startAll(wanted: Wanted, deps: DemoDeps, io: CommandIo): Promise<RunningDemo | null> {
  const fleet = await deps.startFleet({ ...wanted, createDaemon: deps.createDaemon }, io);
  if (fleet === null) return null;
  const { url, key, sites, stop } = fleet;
  const list = sites.map(({ site, url, servers }) => `  ${site.padEnd(6)} ${url}  ${servers.join(", ")}`);
  return {
    url,
    key,
    title: `a hub over ${sites.length} sites with simulated license servers (seed ${wanted.seed}), polled every ${wanted.interval}\n\n${list.join("\n")}`,
    requests: ["/api/fleet/sites", ...BUSIEST, "/api/licenses/users?site=muc&kind=queued&limit=5"],
    stop,
  };
}

async function makeAdminKey(directory: string, io: CommandIo): Promise<string> {
  using closing = new DisposableStack();
  const store = openStore({ directory, log: warningsOn(io), mode: "cli" });
  closing.defer(() => store.close());
  return await freshKey(createKeys({ store, clock: systemClock }), "demo", "admin");
}

function welcome({ title, url, key, requests }: RunningDemo, link: string, data: string): string {
  return `
licmond demo: ${title}

Address    ${url}
Sign in    ${link}
           (once, within 10 minutes)
Documents  ${url}/swagger
Admin key  ${key}
Data       ${data}

Try:
${requests.map((path) => `  curl -H 'X-API-Key: ${key}' '${url}${path}'`).join("\n")}

Ctrl-C ends it.
`;
}
