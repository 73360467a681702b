import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { buildConfig, type Config } from "../../config/config.ts";
import type { SiteRecord } from "../../domain/service/sites.ts";
import { systemClock } from "../../domain/time/clock.ts";
import { createHubKeys } from "../../hub/access/keys.ts";
import { openPool } from "../../hub/database/connect.ts";
import { migrate } from "../../hub/database/migrate.ts";
import { createHub } from "../../hub/hub.ts";
import { createClient } from "../client/client.ts";
import { type CommandIo, Failure } from "../io.ts";
import { reachableHost } from "../serve.ts";
import { type DemoSite, demoSite, type SiteOptions } from "./demo-site.ts";
import { choosePort, type DemoDaemon, freshKey, makeHistory, startSite } from "./start-site.ts";

const SITES: readonly { readonly site: string; readonly servers: readonly string[] }[] = [
  { site: "muc", servers: ["eda", "plm", "embedded", "remote"] },
  { site: "stu", servers: ["cae", "optim", "impact"] },
  { site: "tor", servers: ["styling", "plant", "media"] },
];
/** Maximum time that the demo waits for the hub to catch up before it is shown. */
const PATIENCE_MS = 60_000;
const LOOK_MS = 100;

export interface FleetOptions extends SiteOptions {
  readonly history: number;
  readonly ahead: number;
  readonly createDaemon: (config: Config) => Promise<DemoDaemon>;
  readonly goOn: () => boolean;
}

export type DemoFleet = NonNullable<Awaited<ReturnType<typeof startFleet>>>;

/**
 * Starts three sites on simulated servers, a hub and its PostgreSQL on this host. The hub listens on the address in the
 * options. Returns null, with nothing running, if the user interrupts.
 */
export async function startFleet(options: FleetOptions, io: CommandIo) {
  const { directory, history, goOn } = options;
  await using started = new AsyncDisposableStack();
  mkdirSync(directory, { recursive: true });
  // PostgreSQL may run under another account and must reach its directory.
  chmodSync(directory, 0o711);
  const postgres = await startPostgres(join(directory, "postgresql"));
  started.defer(postgres.stop);
  const database = { database: postgres.url, database_password_file: postgres.passwordFile };
  const config = buildConfig({ http: { host: options.host, port: options.port }, hub: database }, {});
  const { admin, keyFileOf } = await makeKeys(config, directory);
  const url = `http://${reachableHost(options.host)}:${options.port}`;
  const sites = SITES.map(({ site, servers }) => {
    const settings = { site, url, api_key_file: keyFileOf(site), labels: { location: site } };
    return { site, servers, demo: siteOf(options, site, servers, settings) };
  });
  for (const { site, demo } of sites) {
    if (history > 0) await makeHistory(demo, history, goOn, io, ` for ${site}`);
    if (!goOn()) return null;
  }
  const hub = createHub(config);
  started.defer(hub.stop);
  await hub.start();
  for (const { demo } of sites) started.defer(await startSite(demo, options.createDaemon, io));
  await caughtUp(url, admin, goOn);
  const ends = started.move();
  return {
    url,
    key: admin,
    sites: sites.map(({ site, servers, demo }) => ({ site, servers, url: urlOf(demo) })),
    stop: () => ends.disposeAsync(),
  };
}

const urlOf = ({ config: { http } }: DemoSite) => `http://${http.host}:${http.port}`;

/** Builds a site whose page needs no key, because the site listens on loopback only. */
function siteOf(options: FleetOptions, site: string, servers: readonly string[], fleet: object): DemoSite {
  const host = "127.0.0.1";
  const place = { host, port: choosePort(host, 0, false), directory: join(options.directory, site) };
  // Log only warnings: the output of four daemons at once is unreadable.
  const more = { fleet, page: { public: "names" }, log: { level: "warn" } };
  return demoSite({ ...options, ...place, servers, more }, options.ahead);
}

/** Creates an admin key, and a key file for each site. Revokes the keys of an earlier run. */
async function makeKeys({ hub }: Config, directory: string) {
  if (hub === null) throw new Error("the hub's config has no [hub]");
  const pool = openPool(hub, 2);
  try {
    await migrate(pool);
    const keys = await createHubKeys(pool, systemClock);
    const keyFileOf = (site: string) => join(directory, `${site}.key`);
    for (const { site } of SITES) {
      const key = await freshKey(keys, `demo ${site}`, "site", { site });
      writeFileSync(keyFileOf(site), `${key}\n`, { mode: 0o600 });
    }
    return { admin: await freshKey(keys, "demo", "admin"), keyFileOf };
  } finally {
    await pool.close();
  }
}

async function caughtUp(url: string, key: string, goOn: () => boolean): Promise<void> {
  const client = createClient({ where: url, url, unix: null, key });
  const isDone = ({ state, lagFacts, daysLeft }: SiteRecord) =>
    state === "connected" && lagFacts === 0 && (daysLeft ?? 0) === 0;
  for (const until = performance.now() + PATIENCE_MS; goOn() && performance.now() < until; ) {
    const { sites } = await client.get<{ sites: SiteRecord[] }>("/api/fleet/sites");
    if (sites.filter(isDone).length === SITES.length) return;
    await Bun.sleep(LOOK_MS);
  }
}

const VERSIONS = "/usr/lib/postgresql";
/**
 * Accounts under which root starts PostgreSQL, which refuses to run as root. The first existing one is
 * used.
 */
const ACCOUNTS = ["postgres", "nobody"] as const;
const ROLE = "licmond";
const START_MS = 30_000;

/**
 * Starts PostgreSQL on a directory, which is created if missing. It listens on loopback and requires a password, to keep
 * out other users of this host. Throws Failure with advice.
 */
async function startPostgres(directory: string) {
  const data = join(directory, "data");
  const passwordFile = join(directory, "password");
  const isNew = !existsSync(join(data, "PG_VERSION"));
  const programs = programsFor(isNew ? null : readFileSync(join(data, "PG_VERSION"), "utf8").trim());
  const account = accountToUse();
  const as = (program: string, ...args: string[]) => [...account.prefix, join(programs, program), ...args];
  if (isNew) {
    mkdirSync(directory, { recursive: true });
    writeFileSync(passwordFile, `${crypto.getRandomValues(new Uint8Array(24)).toHex()}\n`, { mode: 0o600 });
    for (const path of [directory, passwordFile]) account.own(path);
    chmodSync(directory, 0o700);
    const how = ["--auth=scram-sha-256", `--pwfile=${passwordFile}`, "--encoding=UTF8", "--locale=C.UTF-8"];
    const [command = "", ...args] = as("initdb", "-D", data, "-U", ROLE, ...how);
    const made = spawnSync(command, args, { cwd: "/", encoding: "utf8" });
    if (made.status !== 0) throw new Failure(`PostgreSQL cannot create a database: ${made.stderr.trim()}`);
  }
  const port = choosePort("127.0.0.1", 0, false);
  const log = join(directory, "log");
  const options = { listen_addresses: "127.0.0.1", port, unix_socket_directories: "" };
  const settings = Object.entries(options).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const child = Bun.spawn(as("postgres", "-D", data, ...settings), {
    cwd: "/",
    stdin: "ignore",
    stdout: Bun.file(log),
    stderr: Bun.file(log),
    // Ctrl-C signals the whole process group, and the database must outlive the hub.
    detached: true,
  });
  const postgres = {
    url: `postgres://${ROLE}@127.0.0.1:${port}/postgres`,
    passwordFile,
    async stop() {
      // PostgreSQL's "fast shutdown".
      child.kill("SIGINT");
      await child.exited;
    },
  };
  const until = performance.now() + START_MS;
  while (
    spawnSync(join(programs, "pg_isready"), ["-q", "-h", "127.0.0.1", "-p", String(port)]).status !== 0
  ) {
    if (child.exitCode === null && performance.now() < until) {
      await Bun.sleep(50);
      continue;
    }
    await postgres.stop();
    throw new Failure(`PostgreSQL does not start: ${readFileSync(log, "utf8").trim().split("\n").at(-1)}`);
  }
  return postgres;
}

function programsFor(version: string | null): string {
  const installed = existsSync(VERSIONS) ? readdirSync(VERSIONS) : [];
  const newestFirst = installed.sort((a, b) => Number(b) - Number(a));
  const folders = newestFirst
    .filter((name) => version === null || name === version)
    .map((name) => join(VERSIONS, name, "bin"));
  const onPath = Bun.which("initdb");
  if (onPath !== null) folders.push(dirname(onPath));
  const found = folders.find((folder) => existsSync(join(folder, "initdb")));
  if (found !== undefined) return found;
  throw new Failure(
    `PostgreSQL ${version === null ? "14 or later" : version} is not installed: found no initdb in ${VERSIONS} or on $PATH ` +
      "(Debian and Ubuntu: apt-get install postgresql)",
  );
}

/** Returns the account for PostgreSQL: the current user, or for root another account. */
function accountToUse() {
  // Stops PostgreSQL with this process, even if this process is killed.
  const tied = Bun.which("setpriv") === null ? [] : ["setpriv", "--pdeathsig=INT"];
  if (process.getuid?.() !== 0) return { prefix: [...tied, ...(tied.length > 0 ? ["--"] : [])], own() {} };
  for (const name of ACCOUNTS) {
    const [uid, gid] = ["-u", "-g"].map((which) =>
      Number.parseInt(spawnSync("id", [which, name], { encoding: "utf8" }).stdout, 10),
    );
    if (uid === undefined || gid === undefined || Number.isNaN(uid) || Number.isNaN(gid)) continue;
    if (tied.length === 0) break;
    const own = (path: string) => chownSync(path, uid, gid);
    return { prefix: [...tied, `--reuid=${uid}`, `--regid=${gid}`, "--clear-groups", "--"], own };
  }
  throw new Failure(
    `PostgreSQL does not run as root: start this as another user, or install setpriv and an account (${ACCOUNTS.join(" or ")})`,
  );
}
