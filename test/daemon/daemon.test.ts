import { expect, test } from "bun:test";
import { interpretConfig, type LoadedConfig, loadConfig } from "../../src/config/load.ts";
import { createDaemon } from "../../src/daemon.ts";
import { systemClock } from "../../src/domain/time/clock.ts";
import { createKeys } from "../../src/store/keys.ts";
import { openStore } from "../../src/store/open/open.ts";
import { createLogging } from "../../src/system/log.ts";
import { createPlace, type Place } from "../cli/rig.ts";
import { plainKey } from "../store/plain-key.ts";
import { gather, until } from "../until.ts";

const quiet = { debug() {}, info() {}, warn() {}, error() {} };
const logging = createLogging("info", systemClock, []);

function daemonAt(place: Place, env: Record<string, string> = {}) {
  const loaded = loadConfig(place.config, env);
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
  return createDaemon(loaded.config, { logging, environment: { PATH: "/usr/bin:/bin" } });
}

function headersAt(place: Place): { readonly "X-API-Key": string } {
  const store = openStore({ directory: place.storage, log: quiet, mode: "cli" });
  const made = createKeys({ store, clock: systemClock }).create(plainKey({ role: "admin" }));
  store.close();
  if (made.outcome !== "created") throw new Error(made.outcome);
  return { "X-API-Key": made.presented };
}

test("a start that fails leaves nothing behind", async () => {
  await using place = await createPlace();
  const taken = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  const env = { LICMOND_HTTP_PORT: String(taken.port) };
  const failed = daemonAt(place, env).start();
  await expect(failed).rejects.toThrow(`Another program listens on 127.0.0.1:${taken.port}`);
  taken.stop(true);
  const next = daemonAt(place, env);
  expect(await next.start()).toMatchObject({ port: taken.port });
  await next.stop();
});

test("an open stream is told goodbye and ends with the daemon, which may be asked twice", async () => {
  await using place = await createPlace();
  const daemon = daemonAt(place);
  const { port } = await daemon.start();
  const url = `http://127.0.0.1:${port}`;
  const stream = await fetch(`${url}/stream/logs?last_event_id=1`, { headers: headersAt(place) });
  if (stream.body === null) throw new Error("no stream");
  const received = gather(stream.body);
  const started = '"message":"licmond started"';
  await until("the log line is sent", () => received.text().includes(started) || undefined);
  await Promise.all([daemon.stop(), daemon.stop()]);
  await received.done;
  // Streams have no time limit at shutdown, unlike requests.
  expect(received.text()).toContain(":licmond is shutting down");
  await expect(fetch(`${url}/api/ping`)).rejects.toThrow();
});

test("a reload refuses a missing config file, and applies one that was created since", async () => {
  await using place = await createPlace();
  await place.write('[[servers]]\nid = "off"\nmanager = "rlm"\naddress = "1@x"\nenabled = false');
  const whole = loadConfig(place.config, {});
  const defaults = interpretConfig(`[storage]\ndirectory = "${place.storage}"\n[http]\nport = 0`, null, {});
  if (!whole.ok || !defaults.ok) throw new Error("refused");
  let found: LoadedConfig = whole;
  const parts = { logging, environment: { PATH: "/bin" }, loadConfig: () => found };

  const daemon = createDaemon(whole.config, { ...parts, configFile: place.config });
  await daemon.start();
  found = { ...defaults, file: null };
  const refused = { outcome: "refused", needRestart: [] } as const;
  expect(daemon.reload()).toEqual({ ...refused, problems: ["the config file no longer exists"] });
  found = whole;
  expect(daemon.reload()).toMatchObject({ outcome: "applied" });
  await daemon.stop();
  expect(daemon.reload()).toEqual({ ...refused, problems: ["licmond is stopping"] });

  const bare = createDaemon(defaults.config, { ...parts, configFile: null });
  const { port } = await bare.start();
  expect(bare.reload()).toMatchObject({ outcome: "applied" });
  const response = await fetch(`http://127.0.0.1:${port}/api/status`, { headers: headersAt(place) });
  const lastReload = { outcome: "applied" };
  expect(await response.json()).toMatchObject({ configFile: place.config, lastReload });
  await bare.stop();
});
