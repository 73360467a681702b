import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildConfig, type Config } from "../../config/config.ts";
import type { NewKey } from "../../domain/keys.ts";
import type { SiteRecord } from "../../domain/service/sites.ts";
import { systemClock } from "../../domain/time/clock.ts";
import type { Role } from "../../domain/words.ts";
import { createHubKeys } from "../../hub/access/keys.ts";
import { openPool } from "../../hub/database/connect.ts";
import { migrate } from "../../hub/database/migrate.ts";
import { createHub } from "../../hub/hub.ts";
import { createClient } from "../client/client.ts";
import type { CommandIo } from "../io.ts";
import { reachableHost } from "../serve.ts";
import { type DemoSite, demoSite, type SiteOptions } from "./demo-site.ts";
import { startPostgres } from "./postgres.ts";
import { choosePort, type DemoDaemon, makeHistory, startSite } from "./start-site.ts";

const SITES: readonly { readonly site: string; readonly servers: readonly string[] }[] = [
  { site: "muc", servers: ["eda", "plm", "embedded", "remote"] },
  { site: "stu", servers: ["cae", "optim", "impact"] },
  { site: "tor", servers: ["styling", "plant", "media"] },
];
const KEY_NAME = "demo";
/** Maximum time to wait for the hub to catch up before the demo is shown. */
const PATIENCE_MS = 60_000;
const LOOK_MS = 100;

interface FleetOptions extends SiteOptions {
  readonly history: number;
  readonly ahead: number;
  readonly createDaemon: (config: Config) => Promise<DemoDaemon>;
  readonly goOn: () => boolean;
}

export interface DemoFleet {
  readonly url: string;
  readonly key: string;
  readonly sites: readonly {
    readonly site: string;
    readonly url: string;
    readonly servers: readonly string[];
  }[];
  stop(): Promise<void>;
}

/**
 * Starts three sites on simulated servers, a hub and its PostgreSQL on this host. The hub listens on the address in the
 * options. Returns null, with nothing running, if the user interrupts.
 */
export async function startFleet(options: FleetOptions, io: CommandIo): Promise<DemoFleet | null> {
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

/** Builds a site whose page needs no key: it listens on loopback only. */
function siteOf(options: FleetOptions, site: string, servers: readonly string[], fleet: object): DemoSite {
  const place = {
    host: "127.0.0.1",
    port: choosePort("127.0.0.1", 0, false),
    directory: join(options.directory, site),
  };
  // Log only warnings: the output of four daemons at once is unreadable.
  const more = { fleet, page: { public: "names" }, log: { level: "warn" } };
  return demoSite({ ...options, ...place, servers, more }, options.ahead);
}

/** Creates an admin key, and a key file for each site. Revokes those of an earlier run. */
async function makeKeys({ hub }: Config, directory: string) {
  if (hub === null) throw new Error("the hub's config has no [hub]");
  const pool = openPool(hub, 2);
  try {
    await migrate(pool);
    const keys = await createHubKeys(pool, systemClock);
    const make = async (name: string, role: Role, more: Partial<NewKey>) => {
      const earlier = keys.find(name);
      if (earlier !== null) await keys.revoke(earlier.id);
      const limits = { expiresAt: null, dailyQuota: null, monthlyQuota: null, requestsPerMinute: null };
      const made = await keys.create({ name, role, anonymize: false, ...limits, ...more });
      if (made.outcome !== "created") throw new Error(`could not create the key "${name}"`);
      return made.presented;
    };
    const keyFileOf = (site: string) => join(directory, `${site}.key`);
    for (const { site } of SITES)
      writeFileSync(keyFileOf(site), `${await make(`${KEY_NAME} ${site}`, "site", { site })}\n`, {
        mode: 0o600,
      });
    return { admin: await make(KEY_NAME, "admin", {}), keyFileOf };
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
