import { beforeAll, expect, test } from "bun:test";
import { until } from "../until.ts";
import { describeHub } from "./describe-hub.ts";

const AT = Date.now() - 3_600_000;

interface Line {
  readonly site?: string;
  readonly level: string;
  readonly source: string;
  readonly message: string;
  readonly metadata: Record<string, unknown>;
}
interface Lines {
  readonly logs: readonly Line[];
  readonly total: number;
}

describeHub("logs at a hub", { hubs: 2 }, (at) => {
  const { hubs, keys, postgres } = at;

  /** Log lines of a site, one per second. */
  const lineOf = (seq: number, level: string, source: string, message: string, metadata: object) => ({
    kind: "event",
    seq,
    id: seq,
    event: {
      type: "log",
      id: `log-${AT + seq}`,
      timestamp: new Date(AT + seq * 1000).toISOString(),
      level,
      message,
      source,
      metadata,
    },
  });

  beforeAll(async () => {
    for (const name of ["muc", "blr"]) {
      const site = await at.site(name);
      const facts = [
        lineOf(1, "warn", "collector", "The server refused us", { server: "eda", why: "connection refused" }),
        lineOf(2, "error", "store", "Größe der Datei", { path: '/a "b"\\c' }),
        lineOf(3, "info", "audit", "API key created", { name: `of ${name}`, server: "cad" }),
        ...Array.from({ length: 50 }, (_, n) =>
          lineOf(4 + n, "warn", "collector", `Poll ${n} failed`, { server: "eda" }),
        ),
      ];
      await until(
        "the other hub takes the push",
        async () => (await site.send(hubs[1].url, site.push({ to: facts.length, facts }))).ok || undefined,
      );
    }
    await until(
      "all lines are published",
      async () => (await lines("search?sources=collector,store,audit&limit=1")).total >= 106 || undefined,
    );
  });

  const lines = (path: string, role: "operator" | "viewer" = "operator", hub = hubs[0]) =>
    hub.json<Lines>(`/api/logs/${path}`, keys[role]);

  test.each([
    ["search?levels=error&sources=store&q=gr%C3%B6%C3%9Fe", 2],
    ["search?q=REFUSED", 2],
    ["search?q=refused%20connection", 2],
    ["search?q=refused&site=muc", 1],
    ["search?q=efused", 0],
    ["search?server_ids=muc:eda&sources=collector", 51],
    ["search?server_ids=muc:eda,blr:cad", 52],
    ["search?sources=collector&site=blr&levels=warn", 51],
    ["search?q=%22b%22", 2],
    ["search?q=%25&site=muc", 0],
    [`search?site=muc&start_time=${AT + 2000}&end_time=${AT + 5000}`, 3],
  ])("are found by words, sites, servers and times: %s", async (path, total) => {
    for (const hub of hubs) {
      const found = await lines(path, "operator", hub);
      expect([found.total, found.logs.length]).toEqual([total, Math.min(total, 100)]);
    }
  });

  test("pages are cut from the newest, with and without words", async () => {
    for (const q of ["", "&q=failed"]) {
      const all = (await lines(`search?site=muc&sources=collector&limit=100${q}`)).logs.filter((line) =>
        line.message.startsWith("Poll"),
      );
      const cut = await lines(`search?site=muc&sources=collector&limit=7&offset=3${q}`);
      expect(cut.logs).toEqual(all.slice(3, 10));
      expect(all[0]?.message).toBe("Poll 49 failed");
    }
    const recent = await lines("recent?site=muc&sources=collector&lines=2");
    expect(recent.logs.map(({ message }) => message)).toEqual(["Poll 48 failed", "Poll 49 failed"]);
  });

  test("a line has its site and the hub's server id, in CSV too", async () => {
    const { logs } = await lines("search?q=refused&site=blr");
    expect(logs).toMatchObject([{ site: "blr", source: "collector", metadata: { server: "blr:eda" } }]);
    const csv = await hubs[0].get("/api/logs/search?q=refused&site=blr&format=csv", keys.operator);
    const [heading, row] = (await csv.text()).split("\r\n");
    expect(heading?.split(",")).toContain("site");
    expect(row).toContain("blr");
    expect((await hubs[0].get("/api/logs/search?site=nowhere")).status).toBe(404);
  });

  test("sources that a viewer may not see are in none of its answers", async () => {
    const seen = await lines("search?limit=1000", "viewer");
    expect(new Set(seen.logs.map(({ source }) => source)).has("audit")).toBe(false);
    expect((await lines("search?sources=audit", "viewer")).total).toBe(0);
    const stats = await hubs[0].json<{ bySource: Record<string, number> }>("/api/logs/stats");
    expect(Object.keys(stats.bySource)).not.toContain("audit");
  });

  test("an action at one hub is in the audit trail of both, without the key", async () => {
    const made = await hubs[0].post("/api/keys", { name: "wall display", role: "viewer" }, keys.admin);
    const { key, id } = (await made.json()) as { key: string; id: string };
    for (const hub of hubs) {
      const found = await until("the trail has it", async () => {
        const { logs } = await lines(`search?sources=audit&q=${id}`, "operator", hub);
        return logs[0];
      });
      expect(found).toMatchObject({ message: "API key created", metadata: { keyId: id, outcome: "ok" } });
      expect(found.site).toBeUndefined();
      expect(JSON.stringify(found)).not.toContain(key.slice(-20));
    }
  });

  test("statistics count the lines that a search finds", async () => {
    const stats = await hubs[0].json<Record<string, Record<string, number>> & { total: number }>(
      "/api/logs/stats",
      keys.operator,
    );
    expect(stats.bySource?.collector).toBe(102);
    expect(stats.byLevel?.error).toBe((await lines("search?levels=error")).total);
    expect(stats.sizeBytes).toBeGreaterThan(1000);
  });

  test("clearing deletes everything but the audit trail, and is recorded there", async () => {
    const before = new Date(AT + 30_000).toISOString();
    const cleared = await hubs[1].post("/api/logs/clear", { before }, keys.admin);
    expect(await cleared.json()).toEqual({ cleared: 56 });
    expect((await lines("search?site=muc&sources=collector")).total).toBe(24);
    expect((await lines("search?site=muc&sources=audit")).total).toBe(1);
    await until(
      "the trail says so",
      async () => (await lines("search?sources=audit&q=cleared")).total === 1 || undefined,
    );
  });

  test("lines wait while the database is away", async () => {
    await postgres.kill();
    await hubs[0].get("/api/licenses/features");
    await postgres.start();
    const found = await until("the error is there", async () => {
      const answer = await hubs[0].get("/api/logs/search?levels=error&sources=http", keys.operator);
      const { logs = [] } = (await answer.json()) as Partial<Lines>;
      return logs.find(({ metadata }) => metadata.code === "SERVICE_UNAVAILABLE");
    });
    expect(found.site).toBeUndefined();
  });
});
