import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { processesLeft, processesWith } from "../collector/processes.ts";
import { freePort, start, until, untilPrinted } from "./harness.ts";
import { lmstat, REFUSED } from "./lmstat.ts";
import { createSite, serverToml } from "./site.ts";
import { createWatchedSite } from "./watched-site.ts";

const ada = { user: "ada", host: "ws01" };
const grace = { user: "grace", host: "ws02" };

test("without a config serve starts without servers and says what to do", async () => {
  await using site = await createSite();
  const env = {
    LICMOND_HTTP_PORT: String(site.port),
    LICMOND_HTTP_HOST: "127.0.0.1",
    LICMOND_STORAGE_DIRECTORY: join(site.folder, "storage"),
  };
  await using daemon = await start({ args: ["serve"], port: site.port, env });
  expect(await daemon.json<object>("/api/health")).toMatchObject({ status: "healthy" });
  await untilPrinted(daemon, "licmond init");
  await untilPrinted(daemon, "licmond demo");
  expect(await daemon.stop()).toBe(0);
});

test("a polled server: its answers, a rescan, and stale data when it is down, also after kill -9", async () => {
  await using site = await createWatchedSite();
  const mesher = { total: 2, holders: [] };
  await site.lmutil.says(lmstat({ solver: { total: 4, holders: [ada] }, mesher }));
  const own = { server: "eda", state: "ok", daemon: "acmed" };
  let collectedAt = "";
  {
    await using at = await site.watch();
    const answers: Readonly<Record<string, object>> = {
      "/api/licenses": {
        servers: [{ id: "eda", status: "up", features: [{ name: "solver" }, { name: "mesher" }] }],
        summary: { servers: { up: 1 } },
      },
      "/api/licenses/features": {
        features: [
          { ...own, name: "solver", total: 4, used: 1, available: 3, utilization: 25 },
          { ...own, name: "mesher", total: 2, used: 0, available: 2, utilization: 0 },
        ],
        total: 2,
      },
      "/api/licenses/users": { users: [{ kind: "checkout", feature: "solver", ...ada, count: 1 }], total: 1 },
      "/api/licenses/servers/eda": { manager: "flexnet", daemons: [{ name: "acmed", status: "up" }] },
      "/api/licenses/servers/eda/raw": { exitCode: 0, stdout: expect.stringContaining("Users of solver") },
      "/api/licenses/summary": { servers: { up: 1, down: 0 }, seats: { total: 6, used: 1, available: 5 } },
      "/api/metrics": { type: "metrics", licenses: { total: 6, used: 1 } },
    };
    for (const [path, expected] of Object.entries(answers)) {
      const answer = await at.daemon.get(path, at.key);
      expect({ path, body: await answer.json() }).toMatchObject({ path, body: expected });
      expect(answer.headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
      const headers = { "If-None-Match": answer.headers.get("etag") ?? "" };
      if (!/raw|metrics|servers/.test(path))
        expect([path, (await at.daemon.get(path, at.key, { headers })).status]).toEqual([path, 304]);
    }

    const solver = () => at.ask<object>("/api/licenses/features?feature=solver");
    await site.lmutil.says(lmstat({ solver: { total: 4, holders: [ada, grace] }, mesher }));
    expect(await solver()).toMatchObject({ features: [{ used: 1 }] });
    expect(await (await at.post("/api/licenses/rescan")).json()).toMatchObject({
      results: [{ server: "eda", status: "ok", error: null }],
    });
    expect(await solver()).toMatchObject({ features: [{ used: 2 }] });
    ({ collectedAt } = await at.ask<{ collectedAt: string }>("/api/licenses/servers/eda"));

    await site.lmutil.says(REFUSED);
    const forced = await at.post("/api/licenses/rescan", { servers: ["eda"] });
    expect([forced.status, await forced.json()]).toMatchObject([502, { code: "LICENSE_SERVER_UNREACHABLE" }]);
    expect(await solver()).toMatchObject({ features: [{ total: 4, used: 2, state: "stale" }] });
    expect(await at.ask<object>("/api/licenses/servers/eda")).toMatchObject({
      status: "down",
      error: { code: "LICENSE_SERVER_UNREACHABLE" },
    });
    expect(await at.ask<object>("/api/health")).toMatchObject({ status: "degraded" });
    await at.daemon.kill();
  }

  await using at = await site.watch();
  expect(await at.ask<object>("/api/licenses/features")).toMatchObject({
    features: [{ name: "solver", total: 4, used: 2, state: "stale", collectedAt }, { name: "mesher" }],
  });
  expect(await at.ask<object>("/api/licenses/users")).toMatchObject({ users: [{ state: "stale" }, {}] });
  await at.poll(lmstat({ solver: { total: 4, holders: [] }, mesher }));
  expect(await at.ask<object>("/api/licenses/features")).toMatchObject({
    features: [{ used: 0, state: "ok" }, {}],
  });
});

describe("the command line next to the daemon", () => {
  test("a second daemon on the same storage or the same port is refused with the reason", async () => {
    await using site = await createSite();
    await using other = await createSite();
    await using _first = await site.serve();
    for (const [where, port, reason] of [
      [site, await freePort(), join(site.folder, "storage")],
      [other, site.port, String(site.port)],
    ] as const) {
      const second = await where.run(["serve"], { env: { LICMOND_HTTP_PORT: String(port) } });
      expect([second.exitCode, second.stderr]).toEqual([1, expect.stringContaining(reason)]);
    }
  });

  test("a second signal ends it at once, with its running tools", async () => {
    await using site = await createSite();
    await site.configure(serverToml("eda", join(import.meta.dir, "../fake-tools/ignore-sigterm")));
    // Tools inherit the daemon's $PATH, so a folder in it marks their processes.
    const mark = join(site.folder, "bin");
    await using daemon = await site.serve({ env: { PATH: `/usr/bin:/bin:${mark}` } });
    await until("the tool runs", () => processesWith(mark).length > 1 || undefined);
    process.kill(daemon.pid, "SIGTERM");
    await untilPrinted(daemon, "licmond is stopping");
    expect(await daemon.stop()).toBe(1);
    expect(await processesLeft(mark, 60_000)).toEqual([]);
  });
});
