import { expect, test } from "bun:test";
import { until, untilPrinted } from "./harness.ts";
import { lmstat } from "./lmstat.ts";
import { createSite, serverToml } from "./site.ts";
import { npmEventSource, npmWebSocket } from "./stream-clients.ts";
import type { Seen } from "./stream-site.ts";

const APPLIED = { outcome: "applied", needRestart: [] };
const EVENTS = ["log", "checkout", "checkin", "server_status", "alert"];

const holders = (...users: string[]) => users.map((user) => ({ user, host: "ws01" }));

test("streams stay open over a valid and an invalid reload, and report the new server", async () => {
  await using site = await createSite();
  const [eda, cad] = [await site.tool("eda"), await site.tool("cad")];
  await eda.says(lmstat({ solver: { total: 4, holders: holders("ada") } }));
  await cad.says(lmstat({ mesher: { total: 4, holders: holders("bob") } }));
  const one = serverToml("eda", eda.path);
  const both = one + serverToml("cad", cad.path);

  await site.configure(one);
  await using daemon = await site.serve();
  const admin = await site.key("admin");
  const events = npmEventSource(`${daemon.url}/stream/combined?api_key=${admin}`, EVENTS);
  const socket = await npmWebSocket(`${daemon.url}/ws/combined?api_key=${admin}`);
  await until("the stream is open", () => events.opened() > 0 || undefined);
  const saw = (name: string, fields: Readonly<Record<string, unknown>>) =>
    until(`${name} ${JSON.stringify(fields)}`, () => {
      const isIt = (seen: Seen) =>
        seen.name === name && Object.entries(fields).every(([key, value]) => seen.data[key] === value);
      return [events, socket].every((client) => client.seen.some(isIt)) || undefined;
    });

  // Reload a valid file: the new server is polled.
  await site.configure(`${both}[log]\nlevel = "debug"\n[collector]\nconcurrency = 3\n`);
  process.kill(daemon.pid, "SIGHUP");
  await saw("server_status", { server: "cad", to: "up" });
  await saw("log", { message: "Configuration reloaded" });
  await untilPrinted(daemon, /Configuration reloaded added=cad settings=log/);
  await untilPrinted(daemon, "Some settings need a restart settings=collector.concurrency");
  await cad.says(lmstat({ mesher: { total: 4, holders: holders("bob", "eve") } }));
  expect((await daemon.post("/api/licenses/rescan", admin)).status).toBe(200);
  await saw("checkout", { server: "cad", user: "eve" });

  // Reload an invalid file: it is reported, and the old config stays.
  await site.configure(`${one}[log]\nlevel = "loud"\n[limits]\nburst = 7\n`);
  const refused = await daemon.post("/api/reload", admin);
  const details = expect.stringContaining("log.level");
  expect([refused.status, await refused.json()]).toMatchObject([409, { code: "CONFLICT", details }]);
  await saw("log", { message: "Invalid configuration; keeping the current one" });
  await cad.says(lmstat({ mesher: { total: 4, holders: holders("bob") } }));
  const rescan = await daemon.post("/api/licenses/rescan", admin);
  expect(rescan.headers.get("RateLimit-Limit")).toBe("100");
  await saw("checkin", { server: "cad", user: "eve" });
  expect(await daemon.json<object>("/api/status", admin)).toMatchObject({
    lastReload: { outcome: "refused", message: details },
  });

  await site.configure(one);
  expect(await (await daemon.post("/api/reload", admin)).json()).toEqual(APPLIED);
  await saw("log", { message: "Configuration reloaded" });
  expect((await daemon.get("/api/licenses/servers/cad", admin)).status).toBe(404);

  expect(events.opened()).toBe(1);
  expect(socket.socket.readyState).toBe(socket.socket.OPEN);
  for (const client of [events, socket]) client.close();
  expect(await daemon.stop()).toBe(0);
});

test("limits, alerts, CORS, execute, the body limit and the log level apply at once", async () => {
  await using site = await createSite();
  const tool = await site.tool("lmutil");
  await tool.says(lmstat({ solver: { total: 2, holders: holders("ada") } }));
  const server = serverToml("eda", tool.path);
  await site.configure(server);
  await using daemon = await site.serve();
  const admin = await site.key("admin");
  const origin = { headers: { Origin: "https://wall.example" } };
  const seatsFire = async () =>
    (await (await daemon.get("/api/licenses/alerts?state=firing", admin)).text()).includes('"seats"');
  const execute = () =>
    daemon.post("/api/execute", admin, { command: "status", server: "eda", dryRun: true });
  const longName = () => daemon.post("/api/keys", admin, { name: "x".repeat(2000), role: "viewer" });

  const before = await daemon.get("/api/licenses/summary", admin, origin);
  expect(before.headers.get("RateLimit-Limit")).toBe("100");
  expect(before.headers.get("Access-Control-Allow-Origin")).toBeNull();
  expect((await execute()).status).toBe(403);
  expect((await longName()).status).toBe(400);
  await daemon.post("/api/licenses/rescan", admin);
  expect(await seatsFire()).toBe(false);

  const alerts = '[alerts]\nusage_warning = 50\nfor = "0s"\n';
  await site.configure(
    `${server}[limits]\nburst = 77\n${alerts}[execute]\nenabled = true\n[log]\nlevel = "debug"`,
    'cors_origins = ["https://wall.example"]\nmax_body_bytes = 1024',
  );
  expect(await (await daemon.post("/api/reload", admin)).json()).toEqual(APPLIED);
  const after = await daemon.get("/api/licenses/summary", admin, origin);
  expect(after.headers.get("RateLimit-Limit")).toBe("77");
  expect(after.headers.get("Access-Control-Allow-Origin")).toBe("https://wall.example");
  expect((await execute()).status).toBe(200);
  expect((await longName()).status).toBe(413);
  await daemon.post("/api/licenses/rescan", admin);
  await until("the alert fires", async () => (await seatsFire()) || undefined);
  await untilPrinted(daemon, "DEBUG http");
  expect(await daemon.stop()).toBe(0);
});
