/**
 * Made-up sites that push to a hub as real ones do: `bun scripts/bench/fleet.ts [sites] [seconds] [servers] [features]`. Needs
 * PostgreSQL and the built binary. Prints how the hub keeps up: its memory, how late pushes are, and how lists are answered.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../test/free-port.ts";
import { feature, picture } from "../../test/http/make.ts";
import { pictureState, pictureStates } from "../../test/hub/pictures.ts";
import { startPostgres } from "../../test/hub/postgres.ts";
import { keyAt, madeUpSite } from "../../test/hub/rig.ts";
import { quantile, residentMegabytes } from "./measure.ts";
import { BINARY } from "./place.ts";

const [sites = 300, seconds = 180, servers = 3, features = 20] = process.argv.slice(2).map(Number);
/** Checkouts that each feature has. */
const HELD = 4;
/** Facts a minute of one feature: 26.8 sessions a day are three facts each, ten times as many at nine. */
const FACTS_A_MINUTE = (26.8 * 3 * 7) / 1440;
const POLL_MS = 60_000;
const PUSH_MS = 10_000;

const postgres = await startPostgres(await freePort(), ["shared_buffers=256MB", "max_wal_size=2GB"]);
const folder = await mkdtemp(join(tmpdir(), "licmond-fleet-"));
const database = await postgres.database();
const port = await freePort();
const config = join(folder, "hub.toml");
const limits = "[limits]\nrequests_per_minute = 1000000\nburst = 1000000\n";
await Bun.write(
  config,
  `[http]\nhost = "127.0.0.1"\nport = ${port}\n${limits}[hub]\ndatabase = "${database}"\n`,
);
const keys: string[] = [];
for (let index = 0; index < sites; index++)
  keys.push(await keyAt(database, { role: "site", site: `site${index}` }));
const viewer = await keyAt(database, { role: "viewer" });
const hub = Bun.spawn([BINARY, "hub", "--config", config], { stdout: "ignore", stderr: "inherit" });
const url = `http://127.0.0.1:${port}`;
while (!(await fetch(`${url}/api/ping`).catch(() => null))?.ok) await Bun.sleep(50);

function pictureAt(id: string, poll: number) {
  const checkouts = (name: string, changes: boolean) =>
    Array.from({ length: HELD }, (_, n) => ({
      ...feature("x").checkouts[0],
      user: `user${(n * 37 + name.length + (changes ? poll : 0)) % 400}`,
      host: `ws${(n * 91 + name.length) % 300}`,
      handle: String(n * 1000 + (changes ? poll : 0)),
      display: null,
    }));
  const list = Array.from({ length: features }, (_, n) => {
    // Eight features of a server change from poll to poll.
    const changes = n < 8;
    const name = `Feature_${n}`;
    const held = checkouts(name, changes) as ReturnType<typeof feature>["checkouts"];
    return feature(name, { used: changes ? poll % 4 : 1, checkouts: held, collectedAt: poll * POLL_MS });
  });
  return picture(id, { features: list, collectedAt: poll * POLL_MS, lastPollAt: poll * POLL_MS });
}

let stopped = false;
const lateMs: number[] = [];
let facts = 0;
let refusals = 0;
async function run(index: number): Promise<void> {
  const site = madeUpSite(`site${index}`, keys[index] ?? "");
  const pictures = Array.from({ length: servers }, (_, n) => pictureAt(`s${n}`, 0));
  const numbers = pictures.map(() => 1);
  let cursor = 0;
  let first = true;
  let session = 0;
  let waiting: object[] = [];
  const polled = pictures.map((_, n) => -Math.floor(((index * servers + n) / (sites * servers)) * POLL_MS));
  await Bun.sleep((index / sites) * PUSH_MS);
  const begun = performance.now();
  let polls = 0;
  for (let turn = 0; !stopped; turn++) {
    const due = begun + turn * PUSH_MS;
    await Bun.sleep(Math.max(0, due - performance.now()));
    const states: object[] = first ? pictureStates(pictures) : [];
    const now = performance.now() - begun;
    for (const [n, at] of polled.entries()) {
      if (first || now - at < POLL_MS) continue;
      polled[n] = now;
      const next = pictureAt(`s${n}`, ++polls);
      const number = (numbers[n] ?? 0) + 1;
      states.push({ ...pictureState(pictures[n] ?? null, next, number), order: null });
      pictures[n] = next;
      numbers[n] = number;
    }
    const count = Math.round((servers * features * FACTS_A_MINUTE * PUSH_MS) / 60_000 + Math.random() - 0.5);
    for (let n = 0; n < count; n++) {
      const at = Date.now();
      const of = {
        server: `s${session % servers}`,
        daemon: "acmed",
        feature: `Feature_${session % features}`,
      };
      const end = session % 2 === 1 ? at : null;
      const id = Math.floor(session / 2) + 1;
      waiting.push({
        kind: "session",
        seq: cursor + waiting.length + 1,
        change: end === null ? "opened" : "ended",
        announced: true,
        id,
        ...of,
        user: `user${id % 400}`,
        host: `ws${id % 300}`,
        version: "v1",
        count: 1,
        handle: String(id),
        startedAt: at,
        beganAt: at,
        firstSeenAt: at,
        lastSeenAt: at,
        endedAt: end,
        endReason: end === null ? null : "checkin",
      });
      session++;
    }
    const push = site.push({
      from: cursor + 1,
      to: cursor + waiting.length,
      facts: waiting,
      states: states as never[],
    });
    const response = await site.send(url, push).catch(() => null);
    if (response?.ok !== true) {
      refusals++;
      first ||= states.length > 0;
      await response?.body?.cancel();
      continue;
    }
    const answer = (await response.json()) as { cursor: number };
    facts += waiting.length;
    cursor = answer.cursor;
    waiting = [];
    first = false;
    lateMs.push(performance.now() - due);
  }
}

const asked = new Map<string, number[]>();
async function ask(): Promise<void> {
  const paths = [
    "features",
    "features?sort=-utilization",
    "features?search=feature_1&sort=-used",
    "users",
    "users?user=user7",
    "users?sort=-durationSeconds",
    "servers",
    "summary",
    "expirations",
    "sessions",
    "alerts?state=firing",
    "features?site=site7&limit=1000",
  ];
  await Bun.sleep(2 * PUSH_MS);
  for (let turn = 0; !stopped; turn++) {
    const path = paths[turn % paths.length] ?? "";
    const startedAt = performance.now();
    const response = await fetch(`${url}/api/licenses/${path}`, { headers: { "x-api-key": viewer } });
    await response.text();
    if (response.ok) asked.getOrInsertComputed(path, () => []).push(performance.now() - startedAt);
    else console.error(path, response.status);
    await Bun.sleep(200);
  }
}

let most = 0;
async function watch(): Promise<void> {
  while (!stopped) {
    const { all, own } = await residentMegabytes(hub.pid);
    most = Math.max(most, all);
    console.error(`${facts} facts, hub ${all.toFixed(0)} MB (own ${own.toFixed(0)}), refused ${refusals}`);
    await Bun.sleep(10_000);
  }
}

const all = [ask(), watch(), ...Array.from({ length: sites }, (_, index) => run(index))];
await Bun.sleep(seconds * 1000);
stopped = true;
await Promise.all(all);
const round = (ms: number) => `${Math.round(ms)} ms`;
console.log(`${sites} sites, ${sites * servers * features} features, ${Math.round(facts / seconds)} facts/s`);
console.log(
  `hub at most ${most.toFixed(0)} MB; pushes late p50 ${round(quantile(lateMs, 0.5))}, p95 ${round(quantile(lateMs, 0.95))}, max ${round(Math.max(...lateMs))}`,
);
const times = [...asked.values()].flat();
console.log(
  `lists p50 ${round(quantile(times, 0.5))}, p95 ${round(quantile(times, 0.95))} of ${times.length}`,
);
for (const [path, each] of asked)
  console.log(`  ${path.padEnd(36)} p50 ${round(quantile(each, 0.5))}, p95 ${round(quantile(each, 0.95))}`);
hub.kill();
await hub.exited;
await postgres[Symbol.asyncDispose]();
await rm(folder, { recursive: true });
