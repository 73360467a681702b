/**
 * Simulates a fleet that pushes to a hub: `bun scripts/bench/fleet.ts --help`. Needs PostgreSQL and the
 * built binary. Prints a line for each limit: the hub's memory, the delay of facts, the response time of
 * lists during the pushes, the time to catch up after an outage, and the highest rate that keeps all
 * limits.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { freePort } from "../../test/free-port.ts";
import { startPostgres } from "../../test/hub/postgres.ts";
import { keysAt } from "../../test/hub/rig.ts";
import { createFleet, FACTS_A_SECOND, type Fleet } from "./fleet-sites.ts";
import { cpuSeconds, quantile, residentMegabytes } from "./measure.ts";
import { BINARY, untilAnswers } from "./place.ts";

const HELP = `bun scripts/bench/fleet.ts [options]
  --sites N      simulated sites (300)
  --servers N    license servers per site (3)
  --features N   features per server (60)
  --seconds N    duration of the measurement after all sites have joined (900)
  --rate X       factor of the usual rate of facts at nine in the morning (1)
  --outage N     then an outage of all sites for N minutes; 0 = none (60)
  --climb N      then double the rate every N seconds until a limit is exceeded; 0 = never (0)`;

const { values } = parseArgs({
  options: {
    sites: { type: "string", default: "300" },
    servers: { type: "string", default: "3" },
    features: { type: "string", default: "60" },
    seconds: { type: "string", default: "900" },
    rate: { type: "string", default: "1" },
    outage: { type: "string", default: "60" },
    climb: { type: "string", default: "0" },
    help: { type: "boolean", default: false },
  },
});
if (values.help) {
  console.log(HELP);
  process.exit();
}
const [sites, servers, features] = [values.sites, values.servers, values.features].map(Number) as [
  number,
  number,
  number,
];
const [seconds, rate, outageMinutes, climbSeconds] = [
  values.seconds,
  values.rate,
  values.outage,
  values.climb,
].map(Number) as [number, number, number, number];

const BARS = { hubMegabytes: 256, lagMs: 30_000, listsMs: 300, caughtUpMs: 120_000 };
/** Duration of an outage, long enough that all sites become silent. */
const CUT_MS = 40_000;
const ASK_EVERY_MS = 250;

const PATHS = [
  "licenses/features",
  "licenses/features?sort=-utilization",
  "licenses/features?search=feature_1&sort=-used",
  "licenses/features?site=site7&limit=1000",
  "licenses/users",
  "licenses/users?user=user7",
  "licenses/users?site=site7",
  "licenses/users?sort=-durationSeconds",
  "licenses/users?feature=Feature_3",
  "licenses/servers",
  "licenses/summary",
  "licenses/summary?site=site7",
  "licenses/expirations",
  "licenses/expirations?days=30",
  "licenses/sessions",
  "licenses/alerts?state=firing",
  "fleet/sites",
  "picture?site=site7",
];

/** Requests lists, one after the other, until stopped. */
function startAsking(url: string, key: string) {
  let asked = new Map<string, number[]>();
  let stopped = false;
  async function run(): Promise<void> {
    for (let turn = 0; !stopped; turn++) {
      const path = PATHS[turn % PATHS.length] ?? "";
      const begun = performance.now();
      const response = await fetch(`${url}/api/${path}`, { headers: { "x-api-key": key } });
      await response.bytes();
      if (!response.ok) throw new Error(`${path}: ${response.status}`);
      asked.getOrInsertComputed(path, () => []).push(performance.now() - begun);
      await Bun.sleep(ASK_EVERY_MS);
    }
  }
  const running = run();
  return {
    take() {
      const taken = asked;
      asked = new Map();
      return taken;
    },
    stop(): Promise<void> {
      stopped = true;
      return running;
    },
  };
}

/** Returns the CPU seconds of the whole machine. */
async function busySeconds(): Promise<number> {
  const [line = ""] = (await Bun.file("/proc/stat").text()).split("\n");
  const [, user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0] = line.split(/\s+/).map(Number);
  return (user + nice + system + irq + softirq) / 100;
}

let broken = 0;
function bar(what: string, value: number, unit: string, most: number): boolean {
  const isKept = value <= most;
  if (!isKept) broken++;
  console.log(`${isKept ? "ok    " : "not ok"} ${what}: ${Math.round(value)} ${unit} (at most ${most})`);
  return isKept;
}
const spread = (ms: readonly number[]) =>
  `p50 ${Math.round(quantile(ms, 0.5))}, p95 ${Math.round(quantile(ms, 0.95))}, max ${Math.round(quantile(ms, 1))} ms`;

await using postgres = await startPostgres(await freePort(), ["shared_buffers=256MB", "max_wal_size=2GB"]);
const folder = await mkdtemp(join(tmpdir(), "licmond-fleet-"));
const database = await postgres.database();
const url = `http://127.0.0.1:${await freePort()}`;
const limits = "[limits]\nrequests_per_minute = 1000000\nburst = 1000000\n";
const config = join(folder, "hub.toml");
await Bun.write(
  config,
  `[http]\nhost = "127.0.0.1"\nport = ${new URL(url).port}\n${limits}[hub]\ndatabase = "${database}"\n`,
);
const names = Array.from({ length: sites }, (_, index) => `site${index}`);
const [viewer = "", ...keys] = await keysAt(database, [
  { role: "viewer" },
  ...names.map((site) => ({ role: "site" as const, site })),
]);
const hub = Bun.spawn([BINARY, "hub", "--config", config], { stdout: "ignore", stderr: "inherit" });
await untilAnswers(`${url}/api/ping`, () => hub.exitCode !== null);

let mostMegabytes = 0;
/** Waits while sampling the hub, and prints progress. */
async function watch(ms: number, isOver: () => boolean = () => false): Promise<void> {
  const end = performance.now() + ms;
  for (let turn = 1; performance.now() < end && !isOver(); turn++) {
    await Bun.sleep(Math.min(1_000, end - performance.now()));
    const { all } = await residentMegabytes(hub.pid);
    mostMegabytes = Math.max(mostMegabytes, all);
    if (turn % 30 === 0) console.error(`  hub ${all.toFixed(0)} MB, ${fleet.behind()} sites behind`);
  }
}

/** Measures one period: pushes, list requests, and CPU use of the hub, the simulated sites and everything else. */
async function period(what: string, ms: number): Promise<{ lagMs: number; listsMs: number }> {
  fleet.take();
  asking.take();
  const before = [await cpuSeconds(hub.pid), await cpuSeconds("self"), await busySeconds()];
  const begun = performance.now();
  await watch(ms);
  const took = (performance.now() - begun) / 1000;
  const after = [await cpuSeconds(hub.pid), await cpuSeconds("self"), await busySeconds()];
  const [ofHub = 0, ofSites = 0, all = 0] = after.map((each, n) => (each - (before[n] ?? 0)) / took);
  const { facts, pushes, failures, refusals, pushMs, lagMs } = fleet.take();
  const lists = asking.take();
  const times = [...lists.values()].flat();
  console.log(
    `${what}: ${Math.round(facts / took)} facts/s, ${(pushes / took).toFixed(1)} pushes/s, ${failures} refused ${JSON.stringify([...refusals])}`,
  );
  console.log(`  pushes ${spread(pushMs)}; age of the oldest fact when stored ${spread(lagMs)}`);
  console.log(
    `  processors: hub ${ofHub.toFixed(2)}, simulated sites ${ofSites.toFixed(2)}, PostgreSQL and the rest ${(all - ofHub - ofSites).toFixed(2)}`,
  );
  console.log(`  lists ${spread(times)}, of ${times.length}`);
  for (const [path, each] of lists) console.log(`    ${path.padEnd(48)} ${spread(each)}`);
  return { lagMs: quantile(lagMs, 1), listsMs: quantile(times, 0.95) };
}

/** Measures the time after an outage until no site is behind, in ms. */
async function caughtUp(sitesOf: Fleet): Promise<number> {
  sitesOf.cut(CUT_MS, outageMinutes * 60_000);
  await watch(CUT_MS);
  sitesOf.take();
  const begun = performance.now();
  await watch(20 * 60_000, () => performance.now() - begun > 2_000 && sitesOf.behind() === 0);
  const ms = performance.now() - begun;
  const { facts, refusals } = sitesOf.take();
  console.log(
    `an outage of ${outageMinutes} minutes: ${facts} facts in ${(ms / 1000).toFixed(0)} s, ${Math.round(facts / (ms / 1000))} a second; refused ${JSON.stringify([...refusals])}`,
  );
  return ms;
}

console.log(
  `${sites} sites, ${sites * servers * features} features, ${Math.round(sites * servers * features * FACTS_A_SECOND * rate)} facts/s`,
);
const fleet = createFleet({ sites, servers, features }, url, keys);
fleet.setFactor(rate);
const joining = performance.now();
await watch(10_500);
await watch(10 * 60_000, () => fleet.behind() === 0);
console.log(`all sites have joined after ${((performance.now() - joining) / 1000).toFixed(0)} s`);
const asking = startAsking(url, viewer);
await watch(5_000);
const steady = await period("steady", seconds * 1000);
bar("memory of the hub", mostMegabytes, "MB", BARS.hubMegabytes);
bar("lag", steady.lagMs, "ms", BARS.lagMs);
bar("p95 of lists", steady.listsMs, "ms", BARS.listsMs);
if (outageMinutes > 0) {
  bar("catching up after the outage", await caughtUp(fleet), "ms", BARS.caughtUpMs);
  bar("memory of the hub afterwards", mostMegabytes, "MB", BARS.hubMegabytes);
}
for (let times = rate * 2; climbSeconds > 0; times *= 2) {
  fleet.setFactor(times);
  await watch(10_000);
  const { lagMs, listsMs } = await period(`${times} times the rate`, climbSeconds * 1000);
  if (lagMs <= BARS.lagMs && listsMs <= BARS.listsMs && mostMegabytes <= BARS.hubMegabytes) continue;
  console.log(`a limit is exceeded at ${times} times the rate; the hub used ${mostMegabytes.toFixed(0)} MB`);
  break;
}
await asking.stop();
await fleet.stop();
hub.kill();
await hub.exited;
await rm(folder, { recursive: true });
if (broken > 0) process.exitCode = 1;
