import { describe, expect, test } from "bun:test";
import { PERMANENT } from "../../src/domain/reading.ts";
import type { ApiDocument } from "./document.ts";
import { type Ask, bench, checkout, feature, monitored, NOW, picture, REFUSED } from "./make.ts";

const document = (await (await bench().get("/swagger/json")).json()) as ApiDocument;

/** A site with everything that a record can hold. */
function site(at = bench()) {
  at.show(
    picture("eda", {
      features: [
        feature("solver", {
          reserved: 1,
          queued: 2,
          checkouts: [
            checkout("ada", { startedAt: null, host: null, display: null, handle: null }),
            checkout("bob", { startedAt: NOW - 7_200_000, borrowed: true, lingerSeconds: 60, pid: 77 }),
            checkout("ada", { startedAt: NOW - 3_600_000, host: "WS02" }),
          ],
          reservations: [{ type: "group", name: "chem", count: 1, pool: null }],
          queue: [
            {
              user: "eve",
              host: "ws09",
              display: null,
              qualifier: null,
              version: null,
              count: 2,
              handle: null,
              pool: null,
              firstSeenAt: NOW - 90_000,
            },
          ],
        }),
        feature("free, for all", {
          daemon: "other",
          total: null,
          used: null,
          available: null,
          utilization: null,
          reserved: null,
          queued: null,
          unlimited: true,
          expiry: PERMANENT,
          pools: [],
          checkouts: [],
        }),
      ],
    }),
    picture("cad", {
      status: "down",
      state: "stale",
      error: REFUSED,
      members: [
        {
          host: "lic2",
          port: null,
          status: "down",
          master: false,
          version: null,
          error: { message: "refused", major: -15, minor: 570, system: 115, kind: "unreachable" },
        },
      ],
      features: [feature("solver", { state: "stale", utilization: 80 })],
    }),
    picture("new", {
      status: "unknown",
      state: "failed",
      collectedAt: null,
      lastPollAt: null,
      nextPollAt: null,
      pollDurationMs: null,
      members: [],
      daemons: [],
      features: [],
      reachability: [],
      unparsed: [],
      unparsedLines: 0,
    }),
    picture("off", { server: monitored("off", { enabled: false, labels: {} }), features: [] }),
  );
  return at;
}

/** What the bench holds against the document, in its `get`. */
const ROUTES: readonly [path: string, asked: string, ask: Ask, status: number][] = [
  ["/api/health", "/api/health", {}, 200],
  ["/api/ping", "/api/ping", {}, 200],
  ["/api/status", "/api/status", {}, 200],
  ["/api/server-info", "/api/server-info", {}, 200],
  ["/api/metrics", "/api/metrics", {}, 200],
  ["/api/network", "/api/network", {}, 200],
  ["/api/licenses", "/api/licenses", {}, 200],
  ["/api/licenses/features", "/api/licenses/features", {}, 200],
  ["/api/licenses/features", "/api/licenses/features?sort=-used&limit=2", {}, 200],
  ["/api/licenses/users", "/api/licenses/users", {}, 200],
  ["/api/licenses/servers", "/api/licenses/servers", {}, 200],
  ["/api/licenses/servers/{id}", "/api/licenses/servers/eda", {}, 200],
  ["/api/licenses/servers/{id}/raw", "/api/licenses/servers/eda/raw", {}, 200],
  ["/api/licenses/servers/{id}/raw", "/api/licenses/servers/new/raw", {}, 200],
  ["/api/licenses/summary", "/api/licenses/summary", {}, 200],
  ["/api/licenses/stats", "/api/licenses/stats", {}, 200],
  ["/api/licenses/sessions", "/api/licenses/sessions", {}, 200],
  ["/api/licenses/denials", "/api/licenses/denials", {}, 200],
  ["/api/licenses/heatmap", "/api/licenses/heatmap", {}, 200],
  ["/api/licenses/efficiency", "/api/licenses/efficiency", {}, 200],
  ["/api/licenses/usage", "/api/licenses/usage", {}, 200],
  ["/api/licenses/expirations", "/api/licenses/expirations", {}, 200],
  ["/api/licenses/expirations.ics", "/api/licenses/expirations.ics", {}, 200],
  ["/api/licenses/alerts", "/api/licenses/alerts", {}, 200],
  ["/api/licenses/alerts/{id}/acknowledge", "/api/licenses/alerts/7/acknowledge", { method: "POST" }, 404],
  ["/api/licenses/alerts/{id}/silence", "/api/licenses/alerts/7/silence", { method: "POST" }, 400],
  ["/api/licenses/rescan", "/api/licenses/rescan", { method: "POST" }, 200],
  ["/api/keys", "/api/keys", {}, 200],
  [
    "/api/keys",
    "/api/keys",
    { method: "POST", body: '{"name":"n","role":"viewer"}', headers: { "content-type": "application/json" } },
    201,
  ],
  ["/api/keys/{id}", "/api/keys/key000000001", {}, 200],
  ["/api/keys/{id}", "/api/keys/nobody", {}, 404],
  ["/api/licenses", "/api/licenses?server=x", {}, 404],
  ["/api/reload", "/api/reload", { method: "POST" }, 200],
  ["/api/logs/recent", "/api/logs/recent", {}, 200],
  ["/api/logs/recent", "/api/logs/recent?format=csv", {}, 200],
  ["/api/logs/search", "/api/logs/search?q=x", {}, 200],
  ["/api/logs/stats", "/api/logs/stats", {}, 200],
  ["/api/logs/clear", "/api/logs/clear", { method: "POST" }, 200],
];

describe("answers are what the document says", () => {
  test.each(ROUTES)("%s (%s %j)", async (path, asked, ask, status) => {
    const at = site();
    const response = await at.get(asked, { key: at.keys.admin, ...ask });
    expect(response.status).toBe(status);
    expect(document.paths).toHaveProperty([path, (ask.method ?? "get").toLowerCase()]);
  });

  test("every documented path is tried above", () => {
    const tried = new Set(ROUTES.map(([path]) => path));
    expect(
      Object.keys(document.paths).filter((path) => !tried.has(path) && path.startsWith("/api/licenses")),
    ).toEqual([]);
  });
});

async function json(at: ReturnType<typeof bench>, path: string): Promise<Record<string, unknown>> {
  const response = await at.get(path, { key: at.keys.admin });
  expect(response.status).toBe(200);
  return (await response.json()) as Record<string, unknown>;
}

const column = (list: unknown, name: string): unknown[] =>
  (list as Record<string, unknown>[]).map((row) => row[name]);

describe("health", () => {
  test.each([
    ["up", {}, "healthy"],
    ["down", { status: "down" as const }, "degraded"],
    ["stale", { state: "stale" as const }, "degraded"],
    ["one member of three down", { status: "degraded" as const }, "healthy"],
    ["never polled", { status: "unknown" as const, state: "failed" as const, lastPollAt: null }, "healthy"],
    ["polled in vain", { state: "failed" as const }, "degraded"],
    [
      "down but disabled",
      { status: "down" as const, server: monitored("eda", { enabled: false }) },
      "healthy",
    ],
  ])("%s", async (_, more, status) => {
    const at = bench();
    at.show(picture("eda", more));
    expect(await json(at, "/api/health")).toMatchObject({ status });
  });

  test("names no server and asks the checks once a second", async () => {
    let asked = 0;
    const fine = { status: "healthy" as const, message: "fine" };
    const health = () => {
      asked++;
      return { database: fine, collector: fine, disk: fine, clock: fine };
    };
    const at = site(bench({ health }));
    expect(JSON.stringify(await json(at, "/api/health"))).not.toContain("eda");
    await at.get("/api/health");
    expect(asked).toBe(1);
    at.now += 1000;
    await at.get("/api/health");
    expect(asked).toBe(2);
  });
});

describe("features", () => {
  test.each([
    ["", ["solver", "free, for all", "solver"]],
    ["?server=cad", ["solver"]],
    ["?server=eda,cad&daemon=other", ["free, for all"]],
    ["?feature=free,%20for%20all", ["free, for all"]],
    ["?feature=solver&feature=nothing", ["solver", "solver"]],
    ["?feature=nothing", []],
    ["?search=FREE", ["free, for all"]],
    ["?min_utilization=80", ["solver"]],
    ["?state=stale", ["solver"]],
    ["?state=ok,stale&sort=name", ["free, for all", "solver", "solver"]],
    ["?limit=1&offset=1", ["free, for all"]],
    ["?offset=3", []],
    ["?_=1769847330123", ["solver", "free, for all", "solver"]],
  ])("%s", async (query, names) => {
    const body = await json(site(), `/api/licenses/features${query}`);
    expect(column(body.features, "name")).toEqual(names);
  });

  test("total counts the matches before limit and offset", async () => {
    expect(await json(site(), "/api/licenses/features?limit=1&offset=2")).toMatchObject({
      total: 3,
      limit: 1,
      offset: 2,
    });
    expect(await json(site(), "/api/licenses/features")).toMatchObject({ total: 3, limit: null, offset: 0 });
  });

  test("sorted with nulls last both ways, ties by identity", async () => {
    const order = async (sort: string) => {
      const { features } = await json(site(), `/api/licenses/features?sort=${sort}`);
      return (features as Record<string, unknown>[]).map(({ server, name }) => `${server}/${name}`);
    };
    expect(await order("utilization")).toEqual(["eda/solver", "cad/solver", "eda/free, for all"]);
    expect(await order("-utilization")).toEqual(["cad/solver", "eda/solver", "eda/free, for all"]);
    expect(await order("-name")).toEqual(["cad/solver", "eda/solver", "eda/free, for all"]);
  });

  test("the parts kept by server give what a plain serialisation gives", async () => {
    const at = site();
    const kept = await (await at.get("/api/licenses/features")).text();
    const built = await (await at.get("/api/licenses/features?limit=10000")).text();
    expect(kept).toBe(built.replace('"limit":10000', '"limit":null'));
  });
});

describe("users", () => {
  test("by start, unknown starts last; every kind", async () => {
    const { users } = await json(site(), "/api/licenses/users");
    expect(
      (users as Record<string, unknown>[]).map(({ kind, user, server }) => `${kind} ${user} ${server}`),
    ).toEqual([
      "checkout bob eda",
      "checkout ada cad",
      "checkout ada eda",
      "checkout ada eda",
      "queued eve eda",
      "reservation null eda",
    ]);
  });

  test("who waits is told since when we see it, which is no start", async () => {
    const { users } = await json(site(), "/api/licenses/users?kind=queued");
    expect(users).toMatchObject([
      { startedAt: null, firstSeenAt: new Date(NOW - 90_000).toISOString(), durationSeconds: 85 },
    ]);
  });

  test("the rows kept by server give what a plain serialisation gives", async () => {
    const at = site();
    const kept = await (await at.get("/api/licenses/users")).text();
    const built = await (await at.get("/api/licenses/users?limit=10000")).text();
    expect(kept).toBe(built.replace('"limit":10000', '"limit":null'));
  });

  test.each([
    ["?user=bob", 1],
    ["?user=bob,eve", 2],
    ["?host=ws02", 1],
    ["?kind=queued,reservation", 2],
    ["?feature=solver&server=cad", 1],
    ["?user=nobody", 0],
  ])("%s", async (query, total) => {
    expect(await json(site(), `/api/licenses/users${query}`)).toMatchObject({ total });
  });

  test("ages are measured when they were read", async () => {
    const { users } = await json(site(), "/api/licenses/users?user=bob");
    expect(users).toMatchObject([
      { durationSeconds: 7195, startedAt: "2026-03-01T10:00:00.000Z", borrowed: true },
    ]);
  });

  test("hostile names come back as data", async () => {
    const names = [
      '</script><b>"',
      "a\u0000b",
      "__proto__",
      "=1+1",
      "'; DROP TABLE keys",
      "名前",
      "\r\nX: y",
      "%00",
    ];
    const at = bench();
    at.show(
      picture("eda", { features: names.map((name) => feature(name, { checkouts: [checkout(name)] })) }),
    );
    const { features } = await json(at, "/api/licenses/features");
    expect(column(features, "name")).toEqual(names);
    const { users } = await json(at, "/api/licenses/users?sort=user");
    expect(column(users, "user").toSorted()).toEqual(names.toSorted());
    for (const name of names) {
      if (!name.isWellFormed()) continue;
      const found = await json(at, `/api/licenses/features?feature=${encodeURIComponent(name)}`);
      expect(found).toMatchObject({ total: 1, features: [{ name }] });
    }
  });
});

describe("servers", () => {
  test("one record, its error without the tool's words", async () => {
    expect(await json(site(), "/api/licenses/servers/cad")).toMatchObject({
      id: "cad",
      status: "down",
      state: "stale",
      error: { code: "LICENSE_SERVER_UNREACHABLE", message: "Nobody answers at 27000@lic1." },
      members: [{ host: "lic2", port: null, error: "refused" }],
      counts: { features: 1, checkouts: 1, total: 4, used: 1 },
      unparsedLines: 1,
    });
    expect(await json(site(), "/api/licenses/servers/new")).toMatchObject({
      counts: { features: null, checkouts: null, total: null, used: null },
      collectedAt: null,
    });
  });

  test("its seats in use are those of its total: what unlimited features hold is in neither", async () => {
    const at = bench();
    const free = feature("free", { total: null, used: 7, unlimited: true });
    at.show(picture("eda", { features: [feature("solver"), free] }));
    expect(await json(at, "/api/licenses/servers/eda")).toMatchObject({ counts: { total: 4, used: 1 } });
    expect(await json(at, "/api/licenses/summary")).toMatchObject({ seats: { total: 4, used: 1 } });
  });

  test.each([
    ["?status=down,unknown", ["cad", "new"]],
    ["?state=failed", ["new"]],
    ["?manager=rlm", []],
    ["?sort=-id", ["off", "new", "eda", "cad"]],
    ["?sort=collectedAt&limit=4", ["cad", "eda", "off", "new"]],
  ])("%s", async (query, ids) => {
    expect(column((await json(site(), `/api/licenses/servers${query}`)).servers, "id")).toEqual(ids);
  });

  test("raw: what was run, what it said, what no rule knew", async () => {
    expect(await json(site(), "/api/licenses/servers/eda/raw")).toEqual({
      server: "eda",
      polledAt: "2026-03-01T11:59:55.000Z",
      argv: ["/opt/lmutil", "lmstat", "-a"],
      exitCode: 0,
      signal: null,
      stdout: "Users of solver: …",
      stderr: "",
      truncated: false,
      unparsedLines: 1,
      unparsed: [{ line: 7, text: "a line that no rule knew" }],
    });
  });
});

describe("licenses", () => {
  test("servers with their features, and the totals of those shown", async () => {
    const whole = await json(site(), "/api/licenses");
    expect(whole).toMatchObject({
      summary: { servers: { up: 2, down: 1, unknown: 1 }, features: 3, staleFeatures: 1 },
    });
    expect(column(whole.servers, "id")).toEqual(["eda", "cad", "new", "off"]);
    const some = await json(site(), "/api/licenses?server=cad");
    expect(some).toMatchObject({
      servers: [{ id: "cad", features: [{ name: "solver" }] }],
      summary: { features: 1 },
    });
  });

  test("only refresh=true polls", async () => {
    const at = site();
    await json(at, "/api/licenses");
    await json(at, "/api/licenses?refresh=false");
    expect(at.rescans).toEqual([]);
    await json(at, "/api/licenses?refresh=true");
    await json(at, "/api/licenses?refresh=true&server=cad&server=cad");
    expect(at.rescans).toEqual([null, ["cad"]]);
  });
});

describe("rescan", () => {
  const rescan = (at: ReturnType<typeof bench>, body: unknown) =>
    at.get("/api/licenses/rescan", {
      key: at.keys.operator,
      method: "POST",
      body: JSON.stringify(body),
      headers: { "content-type": "application/json; charset=utf-8" },
    });

  test("several: a failure stands in its row", async () => {
    const at = site();
    at.fail("cad", REFUSED);
    const response = await rescan(at, { servers: ["eda", "cad", "eda"] });
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({
      results: [
        { server: "eda", status: "ok", durationMs: 12, error: null },
        {
          server: "cad",
          status: "failed",
          durationMs: 12,
          error: { code: "LICENSE_SERVER_UNREACHABLE", message: REFUSED.message },
        },
      ],
    });
    expect(at.rescans).toEqual([["eda", "cad"]]);
  });

  test("an empty body means every enabled server, whatever its type says", async () => {
    const at = site();
    const response = await at.get("/api/licenses/rescan", {
      key: at.keys.operator,
      method: "POST",
      headers: { "content-type": "text/plain" },
    });
    expect(await response.json()).toMatchObject({
      results: [{ server: "eda" }, { server: "cad" }, { server: "new" }],
    });
  });

  test("no server at all is no failure", async () => {
    const at = bench();
    at.show();
    expect(await (await rescan(at, {})).json()).toEqual({ results: [] });
  });
});

describe("keys", () => {
  test("made, used, read, revoked, gone", async () => {
    const at = bench();
    const made = await at.get("/api/keys", {
      key: at.keys.admin,
      method: "POST",
      body: JSON.stringify({
        name: "wall",
        role: "viewer",
        expiresAt: "2026-04-01T00:00:00+02:00",
        dailyQuota: null,
      }),
      headers: { "content-type": "application/json" },
    });
    const { key, ...record } = (await made.json()) as Record<string, string>;
    expect([made.status, made.headers.get("location")]).toEqual([201, `/api/keys/${record.id}`]);
    expect(record).toMatchObject({
      name: "wall",
      role: "viewer",
      state: "active",
      expiresAt: "2026-03-31T22:00:00.000Z",
    });
    expect((await at.get("/api/licenses", { key: key ?? null })).status).toBe(200);

    const path = `/api/keys/${record.id}`;
    const read = (await (await at.get(path, { key: at.keys.admin })).json()) as Record<string, unknown>;
    expect(read).toEqual({ ...record, lastUsedAt: "2026-03-01T12:00:00.000Z" });

    const ended = await at.get(path, { key: at.keys.admin, method: "DELETE" });
    expect([ended.status, await ended.text()]).toEqual([204, ""]);
    expect((await at.get(path, { key: at.keys.admin })).status).toBe(410);
    expect(await (await at.get("/api/licenses", { key: key ?? null })).json()).toMatchObject({
      code: "AUTH_REVOKED",
    });
    expect(at.logged.filter(({ source }) => source === "audit").map(({ message }) => message)).toEqual([
      "API key created",
      "API key revoked",
    ]);
    expect(JSON.stringify(at.logged)).not.toContain(key);
  });

  test("listed without secrets, a hundred at most unless told otherwise", async () => {
    const at = bench();
    const body = await json(at, "/api/keys");
    expect(body).toMatchObject({ total: 5, limit: 100, offset: 0 });
    expect(JSON.stringify(body)).not.toContain("xxxx");
  });
});
