import { chmod, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createDemoLogs, demoSite, makeDemoHistory } from "../../src/cli/demo/demo-site.ts";
import { parseMomentOfWeek } from "../../src/domain/time/clock.ts";
import { aheadFor } from "../../src/simulator/calendar.ts";
import { type Postgres, startPostgres } from "../hub/postgres.ts";
import { recordingLog } from "../store/recording-log.ts";
import { type Line, startLine } from "./fleet-line.ts";
import { BINARY, type Daemon, freePort, run, start, until } from "./harness.ts";
import { flexnetSays } from "./lmstat.ts";

/** PostgreSQL, two hubs behind a balancer, and simulated sites with history. All are the built binary. */

/** Seats of the feature of the server `bulk`. */
export const BULK_SEATS = 4000;
/** A site waits up to a minute after failures, and as long for an answer. */
export const PATIENCE_MS = 240_000;
const LIMITS = "[limits]\nrequests_per_minute = 1000000\nburst = 1000000\n";
const SITES = { muc: ["eda", "plm"], stu: ["cae", "optim"], tor: ["styling", "media"] } as const;

export interface FleetSite {
  readonly name: string;
  readonly config: string;
  readonly storage: string;
  readonly key: string;
  /** Server ids at the site. */
  readonly servers: readonly string[];
  /** The running daemon; replaced by each start. */
  daemon: Daemon;
  start(env?: Readonly<Record<string, string>>): Promise<void>;
  /** Writes `[fleet]` with additional keys, for the next start. */
  configure(fleet?: string): Promise<void>;
  /** Advances the simulation by some minutes and polls all servers. */
  poll(minutes?: number): Promise<void>;
  /** Sets the lmstat output of the server `bulk`. */
  bulk(output: string): Promise<void>;
  get<Body>(path: string): Promise<Body>;
}

export interface Fleet extends AsyncDisposable {
  readonly folder: string;
  readonly postgres: Postgres;
  readonly database: string;
  readonly hubs: readonly { daemon: Daemon; start(): Promise<void> }[];
  /** The line between the sites and the hubs. */
  readonly line: Line;
  readonly sites: readonly FleetSite[];
  /** Key of an admin of the hubs. */
  readonly key: string;
  /** Sends requests to the hubs round-robin, without the line. */
  get(path: string): Promise<Response>;
  /** Creates a key of role site. */
  siteKey(site: string): Promise<string>;
  /** Waits until the hubs have all data of the sites. Returns an instant up to which they are complete, epoch ms. */
  caughtUp(sites?: readonly FleetSite[]): Promise<number>;
}

/** `days` is the length of each site's history. */
export async function startFleet(days: number): Promise<Fleet> {
  await using started = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "licmond-fleet-"));
  started.defer(() => rm(folder, { recursive: true, force: true }));
  const postgres = started.use(await startPostgres(await freePort()));
  const database = await postgres.database();
  const hubConfigs = await Promise.all(
    [1, 2].map(async (number) => {
      const [port, config] = [await freePort(), join(folder, `hub-${number}.toml`)];
      await Bun.write(
        config,
        `[http]\nhost = "127.0.0.1"\nport = ${port}\n[log]\nlevel = "warn"\n${LIMITS}[hub]\ndatabase = "${database}"\n`,
      );
      return { port, config };
    }),
  );
  const [{ config: hubConfig = "" } = {}] = hubConfigs;
  const makeKey = async (name: string, role: string, ...more: string[]) => {
    const made = await run([
      "keys",
      "create",
      "--config",
      hubConfig,
      "--name",
      name,
      "--role",
      role,
      ...more,
    ]);
    if (made.exitCode !== 0) throw new Error(made.stderr);
    return made.stdout.trim();
  };
  const key = await makeKey("me", "admin");
  const hubs: { daemon: Daemon; start(): Promise<void> }[] = [];
  for (const { port, config } of hubConfigs) {
    const begin = () => start({ args: ["hub", "--config", config], port });
    const hub = {
      daemon: await begin(),
      async start() {
        hub.daemon = await begin();
      },
    };
    started.defer(() => hub.daemon[Symbol.asyncDispose]());
    hubs.push(hub);
  }
  const line = started.use(
    await startLine(
      await freePort(),
      hubConfigs.map(({ port }) => port),
    ),
  );
  let keys = 0;
  const siteKey = (site: string) => makeKey(`${site} ${++keys}`, "site", "--site", site);
  const sites: FleetSite[] = [];
  for (const [name, servers] of Object.entries(SITES)) {
    const site = await makeSite({ name, servers, folder, hub: line.url, hubKey: await siteKey(name), days });
    started.defer(() => site.daemon[Symbol.asyncDispose]());
    sites.push(site);
  }
  let turn = 0;
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
    line,
    sites,
    key,
    get,
    siteKey,
    async caughtUp(which = sites) {
      const asked = Date.now();
      for (const site of which) await hasEverything(site, get);
      for (const { name } of which) await isHeardAfter(name, asked, get);
      return asked;
    },
    [Symbol.asyncDispose]: () => ends.disposeAsync(),
  };
}

interface SiteParts {
  readonly name: string;
  readonly servers: readonly string[];
  readonly folder: string;
  readonly hub: string;
  readonly hubKey: string;
  readonly days: number;
}

async function makeSite({ name, servers, folder, hub, hubKey, days }: SiteParts): Promise<FleetSite> {
  const own = join(folder, name);
  const [storage, config, port] = [join(own, "storage"), join(own, "licmond.toml"), await freePort()];
  await mkdir(storage, { recursive: true });
  const keyFile = join(own, "hub.key");
  await Bun.write(keyFile, hubKey);
  const ahead = aheadFor("UTC", Date.now(), parseMomentOfWeek("Wed 11:00"));
  const demo = demoSite(
    { host: "127.0.0.1", port, directory: storage, interval: "24h", seed: 1, servers },
    ahead,
  );
  const made = await makeDemoHistory(demo, days, Date.now(), recordingLog(), () => true);
  if (made !== "made") throw new Error(`history of ${name}: ${made}`);
  const writeLogs = createDemoLogs(demo, Date.now());
  // File with the offset of the simulated time, so that polls of the same minute see other users.
  const moved = join(own, "ahead");
  const tool = join(own, "tool");
  const bulk = join(own, "bulk");
  await Bun.write(bulk, flexnetSays({ features: { bulk: { total: BULK_SEATS } } }));
  let shift = 0;
  await Bun.write(moved, `${ahead}`);
  await Bun.write(
    tool,
    `#!/bin/sh\nmanager=$1; shift\nexec '${BINARY}' simulate "$manager" --seed=1 --timezone=UTC --ahead="$(cat '${moved}')" "$@"\n`,
  );
  await chmod(tool, 0o755);
  const serversToml = demo.config.servers.map(({ id, name, manager, address, labels, logFile }) => {
    const log = logFile === null ? "" : `log_file = "${logFile}"\n`;
    const argv = JSON.stringify([tool, manager, `--server=${id}`]);
    const pairs = Object.entries(labels).map(([label, value]) => `${label} = "${value}"`);
    return `[[servers]]\nid = "${id}"\nname = "${name}"\nmanager = "${manager}"\naddress = "${address}"\ntimezone = "UTC"\ninterval = "24h"\ntool = ${argv}\nlabels = { ${pairs.join(", ")} }\n${log}`;
  });
  // The address is never resolved, because the tool is `cat`.
  serversToml.push(
    `[[servers]]\nid = "bulk"\nmanager = "flexnet"\naddress = "27000@127.0.0.1"\ntimezone = "UTC"\ninterval = "24h"\ntool = ["/bin/sh", "-c", "cat '${bulk}'"]\n`,
  );
  const configure = (fleet = "") =>
    Bun.write(
      config,
      `[http]\nhost = "127.0.0.1"\nport = ${port}\n[log]\nlevel = "warn"\n[storage]\ndirectory = "${storage}"\n${LIMITS}[alerts]\nfor = "0s"\n[fleet]\nsite = "${name}"\nurl = "${hub}"\napi_key_file = "${keyFile}"\n${fleet}\n${serversToml.join("")}`,
    ).then(() => {});
  await configure();
  const made1 = await run(["keys", "create", "--config", config, "--name", "me", "--role", "admin"]);
  if (made1.exitCode !== 0) throw new Error(made1.stderr);
  const key = made1.stdout.trim();
  const begin = (env: Readonly<Record<string, string>> = {}) =>
    start({ args: ["serve", "--config", config], port, env });
  const site: FleetSite = {
    name,
    config,
    storage,
    key,
    servers: [...servers, "bulk"],
    daemon: await begin(),
    bulk: (output) => Bun.write(bulk, output).then(() => {}),
    async start(env) {
      site.daemon = await begin(env);
    },
    configure,
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

interface Heard {
  readonly state: string;
  readonly waitingFacts: number;
  readonly daysLeft: number;
}
interface Polled {
  readonly servers: readonly { readonly id: string; readonly lastPollAt: string | null }[];
}

/** Waits until the site has sent everything and the hub has its newest pictures. */
async function hasEverything(site: FleetSite, get: Fleet["get"]): Promise<void> {
  let seen: unknown;
  try {
    await until(
      `the hub has everything of ${site.name}`,
      async () => {
        const { fleet } = await site.get<{ fleet: Heard }>("/api/status");
        seen = fleet;
        if (fleet.state !== "connected" || fleet.waitingFacts > 0 || fleet.daysLeft > 0) return undefined;
        const polls = ({ servers }: Polled) =>
          servers
            .map(({ lastPollAt }) => lastPollAt)
            .sort()
            .join();
        const own = polls(await site.get<Polled>("/api/licenses/servers"));
        const answer = await get(`/api/licenses/servers?limit=1000&site=${site.name}`);
        if (!answer.ok) return undefined;
        const known = polls((await answer.json()) as Polled);
        seen = { fleet, own, known };
        return own === known || undefined;
      },
      PATIENCE_MS,
    );
  } catch (cause) {
    throw new Error(`${site.name} does not catch up: ${JSON.stringify(seen)}`, { cause });
  }
}

/** A push is built some moments before the hub stores it. */
const UNDER_WAY_MS = 2_000;

/** A reading is valid until the next one. A heartbeat confirms that none was missed. */
async function isHeardAfter(site: string, instant: number, get: Fleet["get"]): Promise<void> {
  await until(
    `the hub hears of ${site}`,
    async () => {
      const answer = await get(`/api/fleet/sites/${site}`);
      const { lastPushAt } = (await answer.json()) as { lastPushAt?: string };
      return Date.parse(lastPushAt ?? "") > instant + UNDER_WAY_MS || undefined;
    },
    PATIENCE_MS,
  );
}
