import { chmod } from "node:fs/promises";
import { join } from "node:path";
import { type Postgres, startPostgres } from "../hub/postgres.ts";
import { keyAt } from "../hub/rig.ts";
import { BINARY, type Daemon, freePort, start, until } from "./harness.ts";
import { flexnetSays } from "./lmstat.ts";
import { createSite, type Site, serverToml } from "./site.ts";

const LIMITS = "[limits]\nrequests_per_minute = 1000000\nburst = 1000000\n";

/** A hub with its own PostgreSQL, and sites that push to the hub. Hub and sites run the built binary. */
export interface Fleet extends AsyncDisposable {
  readonly hub: Daemon;
  /** Key of an admin of the hub. */
  readonly key: string;
  ask<Body>(path: string): Promise<Body>;
  /** Kills a site with SIGKILL. */
  kill(site: string): Promise<void>;
  /** Starts a site again. */
  start(site: string): Promise<void>;
}

/** Simulated servers of each site. */
export const SIMULATED = { muc: ["eda", "plm"], stu: ["cae"] } as const;

/**
 * Starts a hub, the simulated sites, and one more site, whose labels and only server `lic` have the names
 * `odd`.
 */
export async function startFleet(odd: readonly string[]): Promise<Fleet> {
  await using started = new AsyncDisposableStack();
  const postgres: Postgres = started.use(await startPostgres(await freePort(), ["fsync=off"]));
  const database = await postgres.database();
  const own = started.use(await createSite());
  await own.configure(`${LIMITS}[hub]\ndatabase = "${database}"`);
  const key = await keyAt(database, { role: "admin" });
  const hub = started.use(await start({ args: ["hub", "--config", own.config], port: own.port }));
  const ask = async <Body>(path: string) => {
    const response = await hub.get(path, key);
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as Body;
  };

  const sites = new Map<string, Site>();
  const daemons = new Map<string, Daemon>();
  async function addSite(name: string, labels: object, serversOf: (site: Site) => Promise<string>) {
    const site = started.use(await createSite());
    const file = join(site.folder, "hub.key");
    await Bun.write(file, `${await keyAt(database, { role: "site", site: name })}\n`);
    const pairs = Object.entries(labels).map(([word, value]) => `${word} = ${JSON.stringify(value)}`);
    const fleet = `[fleet]\nsite = "${name}"\nurl = "${hub.url}"\napi_key_file = "${file}"\nlabels = { ${pairs.join(", ")} }\nallow = ["rescan", "acknowledge", "execute"]\n[execute]\nenabled = true`;
    await site.configure(`${LIMITS}[collector]\ninterval = "10s"\n${await serversOf(site)}\n${fleet}`);
    sites.set(name, site);
  }
  for (const [name, ids] of Object.entries(SIMULATED))
    await addSite(name, { location: name }, async (site) =>
      (await Promise.all(ids.map((id) => simulated(site, id)))).join("\n"),
    );
  await addSite("odd", { team: odd[0] ?? "", city: odd.at(-1) ?? "" }, async (site) => {
    const tool = await site.tool("lmutil");
    const features = odd.map((name) => [
      name,
      { total: 1, queued: 1, holders: [{ user: name, host: name }] },
    ]);
    await tool.says(flexnetSays({ features: Object.fromEntries(features) }));
    return serverToml("lic", tool.path, 'timezone = "UTC"');
  });
  const startOne = async (name: string) => {
    const site = sites.get(name);
    if (site !== undefined) daemons.set(name, await site.serve());
  };
  started.defer(async () => {
    for (const daemon of daemons.values()) await daemon.kill();
  });
  for (const name of sites.keys()) await startOne(name);
  await until("the hub has all of each site", async () => {
    const { sites: all } = await ask<{ sites: { features: number; lagFacts: number | null }[] }>(
      "/api/fleet/sites",
    );
    const isThere =
      all.length === sites.size && all.every(({ features, lagFacts }) => features > 0 && lagFacts === 0);
    return isThere || undefined;
  });
  const ends = started.move();
  return {
    hub,
    key,
    ask,
    kill: async (name) => daemons.get(name)?.kill(),
    start: startOne,
    [Symbol.asyncDispose]: () => ends.disposeAsync(),
  };
}

/** Returns the output of a simulated server's tool. */
async function simulated(site: Site, id: string): Promise<string> {
  const tool = join(site.folder, `tool-${id}`);
  await Bun.write(
    tool,
    `#!/bin/sh\nexec '${BINARY}' simulate flexnet --server=${id} --seed=1 --timezone=UTC "$@"\n`,
  );
  await chmod(tool, 0o755);
  return serverToml(id, tool, 'timezone = "UTC"');
}
