import { expect, test } from "bun:test";
import { chmod } from "node:fs/promises";
import { join } from "node:path";
import { interpretConfig, type LoadedConfig, loadConfig } from "../../src/config/load.ts";

import { createDaemon, type Daemon } from "../../src/daemon.ts";
import { systemClock } from "../../src/domain/time/clock.ts";
import { createKeys } from "../../src/store/keys.ts";
import { openStore } from "../../src/store/open/open.ts";
import { createLogging, type LogLine } from "../../src/system/log.ts";
import { createPlace, type Place } from "../cli/rig.ts";
import { lmstat } from "../e2e/lmstat.ts";

const quiet = { debug() {}, info() {}, warn() {}, error() {} };

function daemonAt(place: Place, env: Record<string, string> = {}): { daemon: Daemon; lines: LogLine[] } {
  const load = () => loadConfig(place.config, env);
  const loaded = load();
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
  const lines: LogLine[] = [];
  const logging = createLogging({
    level: "info",
    clock: systemClock,
    sinks: [(line) => void lines.push(line)],
  });
  const environment = { PATH: "/usr/bin:/bin" };
  return {
    daemon: createDaemon(loaded.config, { logging, environment, configFile: place.config, loadConfig: load }),
    lines,
  };
}

function makeKey(place: Place): string {
  const store = openStore({ directory: place.storage, log: quiet, mode: "cli" });
  try {
    const made = createKeys({ store, clock: systemClock }).create({
      name: "test",
      role: "admin",
      expiresAt: null,
      anonymize: false,

      dailyQuota: null,
      monthlyQuota: null,
      requestsPerMinute: null,
    });
    if (made.outcome !== "created") throw new Error(made.outcome);
    return made.presented;
  } finally {
    store.close();
  }
}

async function writeTool(place: Place): Promise<string> {
  const tool = join(place.folder, "lmutil");
  await Bun.write(`${tool}.txt`, lmstat({ solver: { total: 4, holders: [{ user: "ada", host: "ws01" }] } }));
  await Bun.write(tool, `#!/bin/sh\nexec cat '${tool}.txt'\n`);
  await chmod(tool, 0o755);
  return `[[servers]]\nid = "eda"\nmanager = "flexnet"\naddress = "27000@127.0.0.1"\ntool = "${tool}"\n`;
}

test("start, poll, answer, reload, stop, and start again with what was known", async () => {
  await using place = await createPlace();
  const server = await writeTool(place);
  await place.write(server);
  const { daemon, lines } = daemonAt(place);
  const { port, activeKeys } = await daemon.start();
  expect(activeKeys).toBe(0);
  const url = `http://127.0.0.1:${port}`;
  const headers = { "X-API-Key": makeKey(place) };
  const get = async (path: string): Promise<unknown> => (await fetch(url + path, { headers })).json();

  expect(await get("/api/health")).toMatchObject({ checks: { database: { status: "healthy" } } });
  await fetch(`${url}/api/licenses/rescan`, { method: "POST", headers });
  expect(await get("/api/licenses/features")).toMatchObject({
    features: [{ name: "solver", used: 1, state: "ok" }],
  });
  expect(await get("/api/licenses/servers/eda/raw")).toMatchObject({ exitCode: 0 });
  expect(await get("/api/status")).toMatchObject({ configFile: place.config, lastReload: null, keys: 1 });
  expect(await get("/api/metrics")).toMatchObject({ licenses: { total: 4, used: 1 }, polls: { failed: 0 } });
  expect(await get("/api/logs/recent?sources=system")).toMatchObject({
    logs: [{ message: "licmond started" }],
  });

  // A bad file is refused and everything goes on.
  await place.write(`${server}[log]\nlevel = "loud"`);
  const refused = daemon.reload();
  expect(refused).toMatchObject({ outcome: "refused", problems: [expect.stringContaining("log.level")] });
  expect(await get("/api/status")).toMatchObject({ lastReload: { outcome: "refused" } });
  expect(await get("/api/licenses/servers")).toMatchObject({ total: 1 });

  // A good one takes hold, and what it cannot change is named.
  await place.write(
    `${server}[collector]\nconcurrency = 2\n[[servers]]\nid = "off"\nmanager = "rlm"\naddress = "1@x"\nenabled = false`,
  );
  expect(daemon.reload()).toEqual({
    outcome: "applied",
    problems: [],
    needRestart: ["collector.concurrency"],
  });
  expect(await get("/api/licenses/servers")).toMatchObject({ servers: [{ id: "eda" }, { id: "off" }] });
  expect(lines).toContainEqual(
    expect.objectContaining({ message: "The config was read again", fields: { added: "off" } }),
  );
  expect(lines).toContainEqual(expect.objectContaining({ fields: { settings: "collector.concurrency" } }));

  await Promise.all([daemon.stop(), daemon.stop()]);
  await expect(fetch(`${url}/api/ping`)).rejects.toThrow();
  expect(lines.filter(({ level }) => level === "error").map(({ message }) => message)).toEqual([
    "Config problem",
    "The config was refused, the running one stays",
  ]);

  const again = daemonAt(place).daemon;
  const { port: secondPort } = await again.start();
  const response = await fetch(`http://127.0.0.1:${secondPort}/api/licenses/features`, { headers });
  expect(await response.json()).toMatchObject({ features: [{ name: "solver", used: 1 }] });
  await again.stop();
});

test("a start that fails leaves nothing behind", async () => {
  await using place = await createPlace();
  const taken = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  const env = { LICMOND_HTTP_PORT: String(taken.port) };
  const { daemon } = daemonAt(place, env);
  await expect(daemon.start()).rejects.toThrow(`Another program listens on 127.0.0.1:${taken.port}`);
  taken.stop(true);
  // The storage directory is free again.
  const next = daemonAt(place, env).daemon;
  expect(await next.start()).toMatchObject({ port: taken.port });
  await next.stop();
});

test("an open stream is told goodbye and ends with the daemon", async () => {
  await using place = await createPlace();
  const { daemon } = daemonAt(place);
  const { port } = await daemon.start();
  const headers = { "X-API-Key": makeKey(place) };
  const stream = await fetch(`http://127.0.0.1:${port}/stream/logs?last_event_id=1`, { headers });
  const text = stream.text();
  await daemon.stop();
  expect(await text).toContain('"message":"licmond started"');
  // Not cut off after the time that requests are given.
  expect(await text).toContain(":licmond is shutting down");
});

test("a config file that is gone drops nothing, one that has come is taken", async () => {
  await using place = await createPlace();
  await place.write('[[servers]]\nid = "off"\nmanager = "rlm"\naddress = "1@x"\nenabled = false');
  const whole = loadConfig(place.config, {});
  const defaults = interpretConfig(`[storage]\ndirectory = "${place.storage}"\n[http]\nport = 0`, null, {});
  if (!whole.ok || !defaults.ok) throw new Error("refused");
  let found: LoadedConfig = whole;
  const logging = createLogging({ level: "error", clock: systemClock, sinks: [] });
  const parts = { logging, environment: { PATH: "/bin" }, loadConfig: () => found };

  const daemon = createDaemon(whole.config, { ...parts, configFile: place.config });
  await daemon.start();
  found = { ...defaults, file: null };
  expect(daemon.reload()).toEqual({
    outcome: "refused",
    needRestart: [],
    problems: ["there is no config file any more"],
  });
  found = whole;
  expect(daemon.reload()).toMatchObject({ outcome: "applied" });
  await daemon.stop();
  expect(daemon.reload()).toEqual({ outcome: "refused", problems: ["licmond is ending"], needRestart: [] });

  const bare = createDaemon(defaults.config, { ...parts, configFile: null });
  const { port } = await bare.start();
  expect(bare.reload()).toMatchObject({ outcome: "applied" });
  const headers = { "X-API-Key": makeKey(place) };
  const response = await fetch(`http://127.0.0.1:${port}/api/status`, { headers });
  expect(await response.json()).toMatchObject({
    configFile: place.config,
    lastReload: { outcome: "applied" },
  });
  await bare.stop();
});
