import { chmod, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createDemoLogs, demoSite, makeDemoHistory } from "../../src/cli/demo/demo-site.ts";
import { parseMomentOfWeek } from "../../src/domain/time/clock.ts";
import { aheadFor } from "../../src/simulator/calendar.ts";
import { startPostgres } from "../hub/postgres.ts";
import { recordingLog } from "../store/recording-log.ts";
import { startLine } from "./fleet-line.ts";
import { BINARY, type Daemon, freePort, run, start, until } from "./harness.ts";
import { flexnetSays } from "./lmstat.ts";
import { NO_LIMITS, serverToml } from "./site.ts";

/** Number of seats of the feature of the server `bulk`. */
export const BULK_SEATS = 4000;
/**
 * Maximum time to wait for a site. After a failure, a site waits up to a minute before it retries, and up
 * to another minute for the answer.
 */
export const PATIENCE_MS = 240_000;
const SITES = { muc: ["eda", "plm"], stu: ["cae", "optim"], tor: ["styling", "media"] } as const;

export type Fleet = Awaited<ReturnType<typeof startFleet>>;
export type FleetSite = Awaited<ReturnType<typeof makeSite>>;

async function makeKey(config: string, name: string, role: string, ...more: string[]): Promise<string> {
  const made = await run(["keys", "create", "--config", config, "--name", name, "--role", role, ...more]);
  if (made.exitCode !== 0) throw new Error(made.stderr);
  return made.stdout.trim();
}

const httpToml = (port: number) =>
  `[http]\nhost = "127.0.0.1"\nport = ${port}\n[log]\nlevel = "warn"\n${NO_LIMITS}`;

/**
 * Starts PostgreSQL, two hubs behind a balancer, and simulated sites, all with the built binary. `days` is the length of
 * each site's history.
 */
export async function startFleet(days: number) {
  await using started = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "licmond-fleet-"));
  started.defer(() => rm(folder, { recursive: true, force: true }));
  const postgres = started.use(await startPostgres(await freePort()));
  const database = await postgres.database();
  const hubConfig = (port: number) => join(folder, `hub-${port}.toml`);
  const ports = [await freePort(), await freePort()];
  for (const port of ports)
    await Bun.write(hubConfig(port), `${httpToml(port)}[hub]\ndatabase = "${database}"\n`);
  const key = await makeKey(hubConfig(ports[0] ?? 0), "me", "admin");
  const hubs: { daemon: Daemon; start(): Promise<void> }[] = [];
  for (const port of ports) {
    const begin = () => start({ args: ["hub", "--config", hubConfig(port)], port });
    const hub = {
      daemon: await begin(),
      async start() {
        hub.daemon = await begin();
      },
    };
    started.defer(() => hub.daemon[Symbol.asyncDispose]());
    hubs.push(hub);
  }
  const line = started.use(await startLine(await freePort(), ports));
  const sites: FleetSite[] = [];
  for (const [name, servers] of Object.entries(SITES)) {
    const siteKey = await makeKey(hubConfig(ports[0] ?? 0), name, "site", "--site", name);
    const site = await makeSite(name, servers, folder, line.url, siteKey, days);
    started.defer(() => site.daemon[Symbol.asyncDispose]());
    sites.push(site);
  }
  let turn = 0;
  /** Sends requests to the hubs round-robin, without the line. */
  const get = (path: string) => {
    const hub = hubs[turn++ % hubs.length];
    return hub === undefined ? Promise.reject(new Error("there is no hub")) : hub.daemon.get(path, key);
  };
  const ends = started.move();
  return {
    folder,
    postgres,
    database,
    hubs,
    /** The line between the sites and the hubs. */
    line,
    sites,
    get,
    /** Waits until the hubs have all data of the sites. Returns the time up to which the hubs are complete, epoch ms. */
    async caughtUp(which = sites) {
      const asked = Date.now();
      for (const site of which) await hasEverything(site, get);
      for (const { name } of which) await isHeardAfter(name, asked, get);
      return asked;
    },
    [Symbol.asyncDispose]: () => ends.disposeAsync(),
  };
}

async function makeSite(
  name: string,
  servers: readonly string[],
  folder: string,
  hub: string,
  hubKey: string,
  days: number,
) {
  const own = join(folder, name);
  const [storage, config, port] = [join(own, "storage"), join(own, "licmond.toml"), await freePort()];
  await mkdir(storage, { recursive: true });
  const keyFile = join(own, "hub.key");
  await Bun.write(keyFile, hubKey);
  const ahead = aheadFor("UTC", Date.now(), parseMomentOfWeek("Wed 11:00"));
  const place = { host: "127.0.0.1", port, directory: storage };
  const demo = demoSite({ ...place, interval: "24h", seed: 1, servers }, ahead);
  const made = await makeDemoHistory(demo, days, Date.now(), recordingLog(), () => true);
  if (made !== "made") throw new Error(`history of ${name}: ${made}`);
  const writeLogs = createDemoLogs(demo, Date.now());
  // File with the offset of the simulated time, so that polls of the same minute see other users.
  const moved = join(own, "ahead");
  const [tool, bulk] = [join(own, "tool"), join(own, "bulk")];
  await Bun.write(bulk, flexnetSays({ features: { bulk: { total: BULK_SEATS } } }));
  await Bun.write(moved, `${ahead}`);
  await Bun.write(
    tool,
    `#!/bin/sh\nmanager=$1; shift\nexec '${BINARY}' simulate "$manager" --seed=1 --timezone=UTC --ahead="$(cat '${moved}')" "$@"\n`,
  );
  await chmod(tool, 0o755);
  const often = 'timezone = "UTC"\ninterval = "24h"\n';
  const serversToml = demo.config.servers.map(({ id, name, manager, address, labels, logFile }) => {
    const log = logFile === null ? "" : `log_file = "${logFile}"\n`;
    const argv = JSON.stringify([tool, manager, `--server=${id}`]);
    const pairs = Object.entries(labels).map(([label, value]) => `${label} = "${value}"`);
    return `[[servers]]\nid = "${id}"\nname = "${name}"\nmanager = "${manager}"\naddress = "${address}"\n${often}tool = ${argv}\nlabels = { ${pairs.join(", ")} }\n${log}`;
  });
  const cat = join(own, "cat");
  await Bun.write(cat, `#!/bin/sh\ncat '${bulk}'\n`);
  await chmod(cat, 0o755);
  serversToml.push(serverToml("bulk", cat, often));
  /** Writes `[fleet]` with additional keys, for the next start. */
  const configure = async (fleet = "") => {
    const hubToml = `[fleet]\nsite = "${name}"\nurl = "${hub}"\napi_key_file = "${keyFile}"\n${fleet}\n`;
    const rest = `[storage]\ndirectory = "${storage}"\n[alerts]\nfor = "0s"\n${hubToml}`;
    await Bun.write(config, `${httpToml(port)}${rest}${serversToml.join("")}`);
  };
  await configure();
  const key = await makeKey(config, "me", "admin");
  const begin = (env: Readonly<Record<string, string>> = {}) =>
    start({ args: ["serve", "--config", config], port, env });
  let shift = 0;
  const site = {
    name,
    config,
    storage,
    key,
    /** Server ids at the site. */
    servers: [...servers, "bulk"],
    /** The running daemon; replaced by each start. */
    daemon: await begin(),
    /** Sets the lmstat output of the server `bulk`. */
    bulk: async (output: string) => void (await Bun.write(bulk, output)),
    async start(env?: Readonly<Record<string, string>>) {
      site.daemon = await begin(env);
    },
    configure,
    /** Advances the simulation by some minutes and polls all servers. */
    async poll(minutes = 0) {
      shift += minutes * 60_000;
      await Bun.write(moved, `${ahead + shift}`);
      writeLogs(Date.now());
      const polled = await site.daemon.post("/api/licenses/rescan", key);
      if (!polled.ok) throw new Error(`${name}: rescan: ${polled.status} ${await polled.text()}`);
    },
    async get<Body>(path: string) {
      const answer = await site.daemon.get(path, key);
      if (!answer.ok) throw new Error(`${name}: ${path}: ${answer.status} ${await answer.text()}`);
      return (await answer.json()) as Body;
    },
  };
  return site;
}

type Get = (path: string) => Promise<Response>;

/** Waits until the site has sent everything and the hub has the site's newest pictures. */
async function hasEverything(site: FleetSite, get: Get): Promise<void> {
  type Heard = { state: string; waitingFacts: number; daysLeft: number };
  type Polled = { servers: { lastPollAt: string | null }[] };
  const polls = ({ servers }: Polled) =>
    servers
      .map(({ lastPollAt }) => lastPollAt)
      .sort()
      .join();
  let seen: unknown;
  const isThere = async () => {
    const { fleet } = await site.get<{ fleet: Heard }>("/api/status");
    seen = fleet;
    if (fleet.state !== "connected" || fleet.waitingFacts > 0 || fleet.daysLeft > 0) return undefined;
    const own = polls(await site.get<Polled>("/api/licenses/servers"));
    const answer = await get(`/api/licenses/servers?limit=1000&site=${site.name}`);
    if (!answer.ok) return undefined;
    const known = polls((await answer.json()) as Polled);
    seen = { fleet, own, known };
    return own === known || undefined;
  };
  await until(`the hub has everything of ${site.name}`, isThere, PATIENCE_MS).catch((cause) => {
    throw new Error(`${site.name} does not catch up: ${JSON.stringify(seen)}`, { cause });
  });
}

/** Maximum time between building a push and storing it at the hub. */
const UNDER_WAY_MS = 2_000;

/**
 * Waits for a push that was built after `instant`. A reading is valid until the next one, and the push confirms that the
 * hub misses none.
 */
async function isHeardAfter(site: string, instant: number, get: Get): Promise<void> {
  const isHeard = async () => {
    const { lastPushAt } = (await (await get(`/api/fleet/sites/${site}`)).json()) as { lastPushAt?: string };
    return Date.parse(lastPushAt ?? "") > instant + UNDER_WAY_MS || undefined;
  };
  await until(`the hub hears of ${site}`, isHeard, PATIENCE_MS);
}
