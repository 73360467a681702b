import { join } from "node:path";
import { interpretConfig } from "../../src/config/load.ts";
import type { NewKey } from "../../src/domain/keys.ts";
import type { Clock } from "../../src/domain/time/clock.ts";
import type { Answer, Push } from "../../src/fleet/protocol.ts";
import { createHubKeys } from "../../src/hub/access/keys.ts";
import { openPool, type Pool } from "../../src/hub/database/connect.ts";
import { migrate } from "../../src/hub/database/migrate.ts";
import { createHub } from "../../src/hub/hub.ts";
import { freePort } from "../free-port.ts";
import { gather, until } from "../until.ts";

export interface TestHub {
  readonly url: string;
  get(path: string, key?: string): Promise<Response>;
  post(path: string, body: object, key?: string, headers?: Record<string, string>): Promise<Response>;
  json<Body>(path: string, key?: string): Promise<Body>;
}

/** Calls the hub at `url()`. Requests without a key use the key that `usual()` returns. */
export function hubAt(url: () => string, usual = () => ""): TestHub {
  const get = (path: string, key = usual()) => fetch(url() + path, { headers: { "x-api-key": key } });
  return {
    get url() {
      return url();
    },
    get,
    post: (path, body, key = usual(), more = {}) => {
      const headers = {
        ...(key !== "" && { "x-api-key": key }),
        "content-type": "application/json",
        ...more,
      };
      return fetch(url() + path, { method: "POST", headers, body: JSON.stringify(body) });
    },
    json: async <Body>(path: string, key?: string) => (await (await get(path, key)).json()) as Body,
  };
}

/** Starts a hub in this process. `more` is added to its config. */
export async function startHub(
  database: string,
  clock?: Clock,
  more = "",
  environment: Record<string, string> = {},
): Promise<TestHub & AsyncDisposable> {
  const toml = `[http]\nhost = "127.0.0.1"\nport = ${await freePort()}\n[log]\nlevel = "error"\n[limits]\nrequests_per_minute = 1000000\nburst = 1000000\n[hub]\ndatabase = "${database}"\n${more}`;
  const read = interpretConfig(toml, null, environment);
  if (!read.ok) throw new Error(JSON.stringify(read.problems));
  const hub = createHub(read.config, { environment: {}, ...(clock && { clock }) });
  const { port } = await hub.start();
  return Object.assign(
    hubAt(() => `http://127.0.0.1:${port}`),
    { [Symbol.asyncDispose]: () => hub.stop() },
  );
}

/** Starts a hub in a child process, which can be killed. */
export async function spawnHub(config: string, port: number) {
  const argv = [process.execPath, join(import.meta.dir, "../../src/main.ts"), "hub", "--config", config];
  const child = Bun.spawn(argv, {
    env: { PATH: "/usr/bin:/bin", LICMOND_HTTP_PORT: String(port) },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const printed = gather(child.stdout, child.stderr);
  await until(`a hub answers on port ${port}`, async () => {
    if (child.exitCode !== null) throw new Error(`the hub ended:\n${printed.text()}`);
    return (await fetch(`http://127.0.0.1:${port}/api/ping`).catch(() => null))?.ok || undefined;
  });
  return {
    async kill() {
      child.kill("SIGKILL");
      await child.exited;
    },
    async stop() {
      child.kill("SIGTERM");
      const code = await child.exited;
      if (code !== 0) throw new Error(`the hub ended with ${code}:\n${printed.text()}`);
    },
  };
}

export const open = (database: string): Pool =>
  openPool({ database, passwordFile: null, readDatabase: null }, 4);

/** Creates keys as the command line does. */
export async function keysAt(
  database: string,
  wanted: readonly (Partial<NewKey> & Pick<NewKey, "role">)[],
): Promise<string[]> {
  const pool = open(database);
  try {
    await migrate(pool);
    const keys = await createHubKeys(pool, { now: Date.now });
    const limits = { dailyQuota: null, monthlyQuota: null, requestsPerMinute: null };
    const made: string[] = [];
    for (const one of wanted) {
      const more = { expiresAt: null, anonymize: false, ...limits, ...one };
      const key = await keys.create({ name: Bun.randomUUIDv7(), ...more });
      if (key.outcome !== "created") throw new Error(key.outcome);
      made.push(key.presented);
    }
    return made;
  } finally {
    await pool.close();
  }
}

export async function keyAt(
  database: string,
  wanted: Partial<NewKey> & Pick<NewKey, "role">,
): Promise<string> {
  const [key = ""] = await keysAt(database, [wanted]);
  return key;
}

/** Waits until a running hub knows a key that another process created. That takes up to a second. */
export async function known(hub: TestHub, key: string): Promise<string> {
  await until(
    "the hub knows the key",
    async () => (await hub.get("/api/status", key)).status !== 401 || undefined,
  );
  return key;
}

const hex = () => crypto.getRandomValues(new Uint8Array(8)).toHex();

export type MadeUpSite = ReturnType<typeof madeUpSite>;

/** Creates a site without a daemon. Tests choose the content of its pushes. */
export function madeUpSite(site: string, key: string) {
  const identity = { site, epoch: hex(), instance: hex() };
  return {
    ...identity,
    key,
    /** Returns a push with defaults for all missing fields. */
    push: (more: Partial<Omit<Push, "facts">> & { readonly facts?: readonly unknown[] } = {}) => ({
      ...identity,
      from: 1,
      to: 0,
      gap: false,
      sentAt: Date.now(),
      head: 0,
      waitingSince: null,
      daysLeft: null,
      hello: false,
      begins: true,
      facts: [],
      states: [],
      days: [],
      ...more,
    }),
    send(url: string, push: unknown): Promise<Response> {
      return fetch(`${url}/api/fleet/push`, {
        method: "POST",
        // Each push gets its own connection, because a relay loses whole connections.
        headers: { "x-api-key": key, "content-encoding": "zstd", connection: "close" },
        body: Bun.zstdCompressSync(JSON.stringify(push)),
      });
    },
    async sends(url: string, push: unknown): Promise<Answer> {
      const response = await this.send(url, push);
      if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
      return (await response.json()) as Answer;
    },
  };
}

/** Makes facts with numbers from `from` on: checkouts, checkins and counts. */
export function madeUpFacts(from: number, count: number, now: number) {
  return Array.from({ length: count }, (_, index) => madeUpFact(from + index, now));
}

const REST = { reserved: null, queued: 0, unlimited: false };

function madeUpFact(seq: number, now: number) {
  const of = { server: `s${seq % 3}`, daemon: "siliqd", feature: `F${seq % 60}` };
  const number = Math.floor(seq / 3);
  const at = now + number;
  if (seq % 3 === 0) return { kind: "step", seq, ...of, at, total: 100, used: seq % 100, ...REST };
  const isEnd = seq % 3 === 2;
  return {
    ...{ kind: "session", seq, change: isEnd ? "ended" : "opened", announced: true, id: number + 1, ...of },
    server: `s${number % 3}`,
    feature: `F${number % 60}`,
    user: `user${number % 500}`,
    host: `ws${number % 300}`,
    ...{ version: "v2.0", count: 1, handle: String(number) },
    ...{ startedAt: at, beganAt: at, firstSeenAt: at, lastSeenAt: at },
    endedAt: isEnd ? at + 60_000 : null,
    endReason: isEnd ? "checkin" : null,
  };
}
