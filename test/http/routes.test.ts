import { describe, expect, test } from "bun:test";
import { PERMANENT } from "../../src/domain/reading.ts";
import * as a from "../domain/make.ts";
import type { ApiDocument } from "./document.ts";
import { type Bench, bench, checkout, feature, monitored, NOW, picture, REFUSED } from "./make.ts";

const document = (await (await bench().get("/swagger/json")).json()) as ApiDocument;

const EVE = { user: "eve", host: "ws09", display: null, qualifier: null, version: null };
const NEVER = { collectedAt: null, lastPollAt: null, nextPollAt: null, pollDurationMs: null };
const EMPTY = { members: [], daemons: [], features: [], reachability: [], unparsed: [], unparsedLines: 0 };
const UNCOUNTED = { total: null, used: null, available: null, utilization: null };

/** Creates a site with every kind of value in its records. */
function site(at = bench()) {
  const error = a.toolError({ message: "refused", kind: "unreachable" });
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
          queue: [{ ...EVE, count: 2, handle: null, pool: null, firstSeenAt: NOW - 90_000 }],
        }),
        feature("free, for all", {
          daemon: "other",
          ...UNCOUNTED,
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
      members: [{ ...a.member({ host: "lic2", port: null, status: "down", version: null }), error }],
      features: [feature("solver", { state: "stale", utilization: 80 })],
    }),
    picture("new", { status: "unknown", state: "failed", ...NEVER, ...EMPTY }),
    picture("off", { server: monitored("off", { enabled: false, labels: {} }), features: [] }),
  );
  return at;
}

/** Requests that must answer 200. The bench's `get` checks each answer against the OpenAPI document. */
const READ = [
  ...["health", "ping", "status", "server-info", "metrics", "network", "licenses", "licenses/features"],
  ...["licenses/features?sort=-used&limit=2", "licenses/users", "licenses/servers", "licenses/servers/eda"],
  ...[
    "licenses/servers/eda/raw",
    "licenses/servers/new/raw",
    "licenses/summary",
    "licenses/stats",
    "picture",
  ],
  ...["licenses/sessions", "licenses/denials", "licenses/heatmap", "licenses/efficiency", "licenses/usage"],
  ...["licenses/outages", "licenses/waits", "licenses/people", "maintenance"],
  ...["licenses/expirations", "licenses/expirations.ics", "licenses/alerts", "keys", "keys/key000000001"],
  ...["me", "signins", "signins?format=csv"],
  ...["logs/recent", "logs/recent?format=csv", "logs/search?q=x", "logs/stats"],
];
const CHANGED: readonly [asked: string, body: object, status: number][] = [
  ["licenses/alerts/7/acknowledge", {}, 404],
  ["licenses/alerts/7/silence", {}, 400],
  ["licenses/rescan", {}, 200],
  ["execute", { command: "status" }, 403],
  ["keys", { name: "n", role: "viewer" }, 201],
  ["reload", {}, 200],
  ["signin", {}, 403],
  ["signin/code", {}, 201],
  ["signout", {}, 409],
  ["logs/clear", {}, 200],
];

describe("answers match the document", () => {
  test.each([
    ...READ.map((path) => [path, 200] as const),
    ["keys/nobody", 404] as const,
    ["signins/nobody", 405] as const,
  ])("GET %s: %p", async (path, status) => {
    const at = site();
    expect(await at.status(`/api/${path}`, { key: at.keys.admin })).toBe(status);
  });

  test.each(CHANGED)("POST %s %j: %p", async (path, body, status) => {
    expect((await site().post(`/api/${path}`, body)).status).toBe(status);
  });

  test("every documented path is tested above", () => {
    const tried = [...READ, "signins/nobody", ...CHANGED.map(([path]) => path)].map(
      (path) => `/api/${path.split("?", 1)[0]}`,
    );
    const isTried = (path: string) => {
      const form = new RegExp(`^${path.replaceAll(/\{\w+\}/g, "[^/]+")}$`);
      return tried.some((one) => form.test(one));
    };
    const paths = Object.keys(document.paths).filter((path) => path.startsWith("/api/"));
    expect(paths.filter((path) => !isTried(path))).toEqual(["/api/logs/stream"]);
  });
});

const json = (at: Bench, path: string) => at.json(path, { key: at.keys.admin });

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
    ["disabled", { status: "down" as const, server: monitored("eda", { enabled: false }) }, "healthy"],
  ])("%s", async (_, more, status) => {
    const at = bench();
    at.show(picture("eda", more));
    expect(await json(at, "/api/health")).toMatchObject({ status });
  });

  test("names no server and runs the checks at most once a second", async () => {
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

  test("total counts all matches, before limit and offset", async () => {
    const page = async (query: string) => {
      const { total, limit, offset } = await json(site(), `/api/licenses/features${query}`);
      return [total, limit, offset];
    };
    expect(await page("?limit=1&offset=2")).toEqual([3, 1, 2]);
    expect(await page("")).toEqual([3, null, 0]);
  });

  test("sorted with nulls last in both directions, ties by identity", async () => {
    const order = async (sort: string) => {
      const { features } = await json(site(), `/api/licenses/features?sort=${sort}`);
      return (features as Record<string, unknown>[]).map(({ server, name }) => `${server}/${name}`);
    };
    expect(await order("utilization")).toEqual(["eda/solver", "cad/solver", "eda/free, for all"]);
    expect(await order("-utilization")).toEqual(["cad/solver", "eda/solver", "eda/free, for all"]);
    expect(await order("-name")).toEqual(["cad/solver", "eda/solver", "eda/free, for all"]);
  });
});

test.each(["features", "users"])("%s from parts kept by server equal those made at once", async (list) => {
  const at = site();
  const kept = await (await at.get(`/api/licenses/${list}`)).text();
  const built = await (await at.get(`/api/licenses/${list}?limit=10000`)).text();
  expect(kept).toBe(built.replace('"limit":10000', '"limit":null'));
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

  test("a queued user has the time of the first reading, and no start", async () => {
    const { users } = await json(site(), "/api/licenses/users?kind=queued");
    expect(users).toMatchObject([
      { startedAt: null, firstSeenAt: new Date(NOW - 90_000).toISOString(), durationSeconds: 85 },
    ]);
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

  test("ages are measured at the time of the reading", async () => {
    const { users } = await json(site(), "/api/licenses/users?user=bob");
    expect(users).toMatchObject([
      { durationSeconds: 7195, startedAt: "2026-03-01T10:00:00.000Z", borrowed: true },
    ]);
  });

  test("hostile names are returned unchanged", async () => {
    const plain = ["__proto__", "=1+1", "'; DROP TABLE keys", "名前", "%00"];
    const names = ['</script><b>"', "a\u0000b", "\r\nX: y", ...plain];
    const at = bench();
    const named = names.map((name) => feature(name, { checkouts: [checkout(name)] }));
    at.show(picture("eda", { features: named }));
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
  test("one record, its error without the tool's output", async () => {
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

  test("its seats in use match its total: unlimited features are in neither", async () => {
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
    ["?manager=flexnet,rlm&status=down", ["cad"]],
    ["?sort=-id", ["off", "new", "eda", "cad"]],
    ["?sort=collectedAt&limit=4", ["cad", "eda", "off", "new"]],
  ])("%s", async (query, ids) => {
    expect(column((await json(site(), `/api/licenses/servers${query}`)).servers, "id")).toEqual(ids);
  });

  test("an unknown manager", async () => {
    const answer = await site().get("/api/licenses/servers?manager=flexnet,rlmm");
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ code: "INVALID_QUERY" });
  });

  test("raw: the command, its output, and unparsed lines", async () => {
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
  test("servers with their features, and totals of those shown", async () => {
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
  const rescan = (at: Bench, body: object) => at.post("/api/licenses/rescan", body, at.keys.operator);

  test("several: a failure is in its row", async () => {
    const at = site();
    at.fail("cad", REFUSED);
    const error = { code: REFUSED.code, message: REFUSED.message };
    const response = await rescan(at, { servers: ["eda", "cad", "eda"] });
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({
      results: [
        { server: "eda", status: "ok", durationMs: 12, error: null },
        { server: "cad", status: "failed", durationMs: 12, error },
      ],
    });
    expect(at.rescans).toEqual([["eda", "cad"]]);
  });

  test("an empty body means every enabled server, with any content type", async () => {
    const at = site();
    const ask = { key: at.keys.operator, method: "POST", headers: { "content-type": "text/plain" } };
    const response = await at.get("/api/licenses/rescan", ask);
    expect(await response.json()).toMatchObject({
      results: [{ server: "eda" }, { server: "cad" }, { server: "new" }],
    });
  });

  test("no servers is no failure", async () => {
    const at = bench();
    at.show();
    expect(await (await rescan(at, {})).json()).toEqual({ results: [] });
  });
});

describe("keys", () => {
  test("created, used, read, revoked, gone", async () => {
    const at = bench();
    const wanted = { name: "wall", role: "viewer", dailyQuota: null };
    const made = await at.post("/api/keys", { ...wanted, expiresAt: "2026-04-01T00:00:00+02:00" });
    const { key, ...record } = (await made.json()) as Record<string, string>;
    expect([made.status, made.headers.get("location")]).toEqual([201, `/api/keys/${record.id}`]);
    expect(record).toMatchObject({ ...wanted, state: "active", expiresAt: "2026-03-31T22:00:00.000Z" });
    expect(await at.status("/api/licenses", { key: key ?? null })).toBe(200);

    const path = `/api/keys/${record.id}`;
    expect(await json(at, path)).toEqual({ ...record, lastUsedAt: "2026-03-01T12:00:00.000Z" });

    const ended = await at.get(path, { key: at.keys.admin, method: "DELETE" });
    expect([ended.status, await ended.text()]).toEqual([204, ""]);
    expect(await at.status(path, { key: at.keys.admin })).toBe(410);
    expect(await (await at.get("/api/licenses", { key: key ?? null })).json()).toMatchObject({
      code: "AUTH_REVOKED",
    });
    expect(at.linesOf("audit").map(({ message }) => message)).toEqual(["API key created", "API key revoked"]);
    expect(JSON.stringify(at.logged)).not.toContain(key);
  });

  test("listed without secrets, a hundred by default", async () => {
    const at = bench();
    const body = await json(at, "/api/keys");
    expect(body).toMatchObject({ total: 5, limit: 100, offset: 0 });
    expect(JSON.stringify(body)).not.toContain("xxxx");
  });
});
