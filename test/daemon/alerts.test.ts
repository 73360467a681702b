import { expect, test } from "bun:test";
import { chmod } from "node:fs/promises";
import { join } from "node:path";
import { loadConfig } from "../../src/config/load.ts";
import { createDaemon } from "../../src/daemon.ts";
import { systemClock } from "../../src/domain/time/clock.ts";
import { createKeys } from "../../src/store/keys.ts";
import { openStore } from "../../src/store/open/open.ts";
import { createLogging } from "../../src/system/log.ts";
import { createPlace } from "../cli/rig.ts";
import { lmstat } from "../e2e/lmstat.ts";

const quiet = { debug() {}, info() {}, warn() {}, error() {} };

interface Told {
  readonly alerts: readonly { readonly rule: string; readonly kind: string }[];
}

test("from a poll to the receiver, once, over a restart and a reload", async () => {
  await using place = await createPlace();
  const told: Told[] = [];
  using receiver = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      told.push((await request.json()) as Told);
      return new Response();
    },
  });
  const tool = join(place.folder, "lmutil");
  const use = (holders: number) =>
    Bun.write(
      `${tool}.txt`,
      lmstat({
        solver: {
          total: 4,
          holders: Array.from({ length: holders }, (_, n) => ({ user: `u${n}`, host: "ws" })),
        },
      }),
    );
  await Bun.write(tool, `#!/bin/sh\nexec cat '${tool}.txt'\n`);
  await chmod(tool, 0o755);
  await use(4);
  const config = `[alerts]
recoveries = 1
[[servers]]
id = "eda"
manager = "flexnet"
address = "27000@127.0.0.1"
tool = "${tool}"
[[notifications]]
type = "webhook"
url = "http://127.0.0.1:${receiver.port}/"
rules = ["usage"]
`;
  await place.write(config);

  const start = async () => {
    const loaded = loadConfig(place.config, {});
    if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
    const daemon = createDaemon(loaded.config, {
      logging: createLogging({ level: "info", clock: systemClock, sinks: [] }),
      environment: { PATH: "/usr/bin:/bin" },
      configFile: place.config,
      loadConfig: () => loadConfig(place.config, {}),
    });
    const { port } = await daemon.start();
    const store = openStore({ directory: place.storage, log: quiet, mode: "cli" });
    const made = createKeys({ store, clock: systemClock }).create({
      name: `test ${port}`,
      role: "operator",
      expiresAt: null,
      anonymize: false,

      dailyQuota: null,
      monthlyQuota: null,
      requestsPerMinute: null,
    });
    store.close();
    if (made.outcome !== "created") throw new Error(made.outcome);
    const headers = { "X-API-Key": made.presented };
    const url = `http://127.0.0.1:${port}/api/licenses`;
    const firing = async (): Promise<string[]> => {
      const response = await fetch(`${url}/alerts?state=firing&rule=usage`, { headers });
      return ((await response.json()) as { alerts: { rule: string; severity: string }[] }).alerts.map(
        ({ rule, severity }) => `${rule} ${severity}`,
      );
    };
    return { daemon, firing, poll: () => fetch(`${url}/rescan`, { method: "POST", headers }) };
  };
  const until = async (done: () => boolean | Promise<boolean>) => {
    const deadline = Date.now() + 40_000;
    while (!(await done())) {
      if (Date.now() > deadline) throw new Error(`not in time: ${JSON.stringify(told)}`);
      await Bun.sleep(20);
    }
  };

  const first = await start();
  await first.poll();
  await until(async () => (await first.firing()).includes("usage critical"));
  // It ends before its message went out: the message waits in the store.
  await first.daemon.stop();

  const second = await start();
  await second.poll();
  await until(() => told.length > 0);
  await second.poll();
  expect(await second.firing()).toEqual(["usage critical"]);
  await place.write(config.replace("[alerts]", "[alerts]\nusage_critical = 99"));
  expect(second.daemon.reload()).toMatchObject({ outcome: "applied" });
  await use(1);
  await second.poll();
  await until(async () => (await second.firing()).length === 0);
  await until(() => told.length > 1);
  await second.daemon.stop();
  expect(told.flatMap(({ alerts }) => alerts.map(({ rule, kind }) => `${rule} ${kind}`))).toEqual([
    ...["usage fired", "usage resolved"],
  ]);
});
