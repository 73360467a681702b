import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { loadConfig } from "../../src/config/load.ts";
import { createDaemon } from "../../src/daemon.ts";
import { systemClock } from "../../src/domain/time/clock.ts";
import { createLogging, type LogLine } from "../../src/system/log.ts";
import { createPlace, withTool } from "../cli/rig.ts";
import { flexnetSays, REFUSED } from "../e2e/lmstat.ts";
import { until } from "../until.ts";
import { usePostgres } from "./describe-hub.ts";
import { HAS_POSTGRES } from "./postgres.ts";
import { keyAt, open, startHub } from "./rig.ts";

/** Runs a whole daemon as a site of a whole hub. */
describe.skipIf(!HAS_POSTGRES)("a daemon as a site", () => {
  const postgres = usePostgres();

  test("actions at the hub run at the site at once, and both audit trails record them", async () => {
    const database = await postgres.database();
    const operator = await keyAt(database, { role: "operator", name: "olga" });
    const admin = await keyAt(database, { role: "admin", name: "root" });
    const siteKey = await keyAt(database, { role: "site", site: "muc" });
    await using hub = await startHub(database);
    await using place = await createPlace();
    const keyFile = join(place.folder, "key");
    await Bun.write(keyFile, siteKey);
    const tool = await withTool(
      place,
      flexnetSays({ features: { compiler: { total: 4, holders: [{ user: "ada", host: "ws1" }] } } }),
      `interval = "24h"
[alerts]
failures = 1
[execute]
enabled = true
[fleet]
site = "muc"
url = "${hub.url}"
api_key_file = "${keyFile}"
allow = ["rescan", "acknowledge", "execute"]`,
    );
    const lines: LogLine[] = [];
    const logging = createLogging("info", systemClock, [(line) => void lines.push(line)]);
    const loaded = loadConfig(place.config, {});
    if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
    const daemon = createDaemon(loaded.config, { logging, environment: { PATH: "/usr/bin:/bin" } });
    await daemon.start();
    const post = async (path: string, body: object = {}, key = operator) => {
      const response = await fetch(hub.url + path, {
        method: "POST",
        headers: { "x-api-key": key, "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      return { status: response.status, ...((await response.json()) as Record<string, unknown>) };
    };
    try {
      await until("the hub knows the server", async () => {
        const { status } = await hub.get("/api/licenses/servers/muc:eda", operator);
        return status === 200 || undefined;
      });
      // The next poll fails, and the site reports the server as down.
      await Bun.write(`${tool}.txt`, REFUSED);
      const rescan = await post("/api/licenses/rescan", { servers: ["muc:eda"] });
      expect(rescan).toMatchObject({ status: 502, code: "LICENSE_SERVER_UNREACHABLE" });
      const { alerts } = await until("the alert is there", async () => {
        type Alerts = { alerts: { id: number; siteId: number; rule: string }[] };
        const found = await hub.json<Alerts>("/api/licenses/alerts?rule=server_down", operator);
        return found.alerts.length > 0 ? found : undefined;
      });
      const acknowledged = await post(`/api/licenses/alerts/${alerts[0]?.id}/acknowledge`, {
        comment: "on it",
      });
      expect(acknowledged).toMatchObject({
        ...{ status: 200, id: alerts[0]?.id, siteId: alerts[0]?.siteId, site: "muc", server: "muc:eda" },
        ...{ acknowledged: true, acknowledgedBy: "olga", comment: "on it" },
      });
      const silenced = await post(`/api/licenses/alerts/${alerts[0]?.id}/silence`, { durationSeconds: 60 });
      expect(silenced).toMatchObject({ status: 200, silencedUntil: expect.any(String) });
      const ran = await post("/api/execute", { command: "reread", server: "muc:eda" }, admin);
      expect(ran).toMatchObject({
        status: 200,
        site: "muc",
        server: "muc:eda",
        command: "reread",
        exitCode: 0,
      });
      const said = lines
        .filter(({ source, fields }) => source === "audit" && fields.via === "hub")
        .map(({ message, fields }) => [message, fields.outcome, fields.name, fields.role]);
      expect(said).toEqual([
        ["Rescan", "ok", "olga", "operator"],
        ["Alert acknowledged", "ok", "olga", "operator"],
        ["Alert silenced", "ok", "olga", "operator"],
        ["Command", "started", "root", "admin"],
        ["Command", "ok", "root", "admin"],
      ]);
    } finally {
      await daemon.stop();
    }
    // The farewell push tells the hub that the site stopped, so the next process may push at once.
    await using pool = open(database);
    const [row] = await pool`SELECT instance, stopped_at FROM sites`;
    expect(row.instance).toBeNull();
    expect(Date.now() - Number(row.stopped_at)).toBeLessThan(30_000);
    const stale = await until("its servers are stale", async () => {
      const server = await hub.json<{ state: string }>("/api/licenses/servers/muc:eda", operator);
      return server.state === "stale" ? server : undefined;
    });
    expect(stale.state).toBe("stale");
  });
});
