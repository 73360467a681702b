import { afterEach, describe, expect, test } from "bun:test";
import { createApp } from "../../src/http/app.ts";
import { createRequestCounters } from "../../src/http/request-counters.ts";
import { plainKey } from "../store/plain-key.ts";
import { closeDoors, raw, serve } from "./doors.ts";
import { type Ask, bench } from "./make.ts";

afterEach(closeDoors);

const broken: Ask = { method: "POST", body: "{", headers: { "content-type": "application/json" } };
const long: Ask = { ...broken, body: " ".repeat(5000) };

describe("the order of the checks", () => {
  test.each<[string, string, Ask, number]>([
    ["an unknown path before the key", "/api/nowhere", { key: null }, 404],
    ["an unknown path whatever the method", "/api/nowhere", { key: null, method: "DELETE" }, 404],
    ["a wrong method before the key", "/api/keys", { key: null, method: "PUT" }, 405],
    ["OPTIONS before the key", "/api/keys", { key: null, method: "OPTIONS" }, 204],
    ["OPTIONS of an unknown path", "/api/nowhere", { key: null, method: "OPTIONS" }, 404],
    ["the key before the body", "/api/licenses/rescan", { ...broken, key: null }, 401],
    ["the key before the length", "/api/licenses/rescan", { ...long, key: null }, 401],
    ["the role before the body", "/api/licenses/rescan", broken, 403],
    ["the role before the length", "/api/keys", long, 403],
    ["the key before the query", "/api/licenses/features?limit=x", { key: null }, 401],
    ["the query before the server", "/api/licenses/features?limit=x&server=nobody", {}, 400],
  ])("%s", async (_, path, ask, status) => {
    expect((await bench().get(path, ask)).status).toBe(status);
  });

  test("no byte of a body is read before the key is valid", async () => {
    let pulled = 0;
    const body = new ReadableStream<Uint8Array>(
      {
        pull: (controller) => {
          pulled++;
          controller.enqueue(new Uint8Array([32]));
          controller.close();
        },
      },
      { highWaterMark: 0 },
    );
    const response = await bench().get("/api/licenses/rescan", { key: null, method: "POST", body });
    expect([response.status, pulled]).toEqual([401, 0]);
  });
});

describe("methods", () => {
  test("405 and OPTIONS name the methods", async () => {
    const at = bench();
    const wrong = await at.get("/api/keys/abc", { key: null, method: "PATCH" });
    expect(wrong.headers.get("allow")).toBe("GET, HEAD, DELETE, OPTIONS");
    const options = await at.get("/api/licenses/rescan", { key: null, method: "OPTIONS" });
    expect([options.status, options.headers.get("allow"), await options.text()]).toEqual([
      204,
      "POST, OPTIONS",
      "",
    ]);
  });
});

test.each(["/api/ping", "/api/licenses", "/api/nothing", "/"])(
  "two Host headers are 400: %s",
  async (path) => {
    const { port } = serve(bench());
    const ask = (hosts: string) => raw(port, `GET ${path} HTTP/1.1\r\n${hosts}X-Request-ID: mine\r\n\r\n`);
    for (const hosts of [
      "Host: lic\r\nHost: other\r\n",
      "Host: lic\r\nhost: lic\r\n",
      "Host: lic,other\r\n",
    ]) {
      const answer = await ask(hosts);
      expect(answer).toStartWith("HTTP/1.1 400 ");
      expect(answer).toContain('"code":"INVALID_FIELD"');
      expect(answer).toMatch(/x-request-id: mine/i);
    }
  },
);

describe("the key", () => {
  test.each<[string, (key: string) => Record<string, string>]>([
    ["X-API-Key", (key) => ({ "x-api-key": key })],
    ["Authorization: Bearer", (key) => ({ authorization: `Bearer ${key}` })],
    ["authorization: bearer", (key) => ({ authorization: `bearer  ${key}` })],
    ["Authorization: ApiKey", (key) => ({ authorization: `ApiKey ${key}` })],
    ["X-API-Key before Authorization", (key) => ({ "x-api-key": key, authorization: "Bearer nonsense" })],
  ])("%s", async (_, headers) => {
    const at = bench();
    expect(await at.status("/api/licenses", { key: null, headers: headers(at.keys.viewer) })).toBe(200);
  });

  test("an expired key is reported as such, and use is recorded", async () => {
    const at = bench();
    const made = at.deps.keys.create(plainKey({ name: "short", expiresAt: at.now + 1000 }));
    if (made.outcome !== "created") throw new Error("not made");
    expect(await at.status("/api/licenses", { key: made.presented })).toBe(200);
    expect(at.deps.keys.get(made.key.id)?.lastUsedAt).toBe(at.now);
    at.now += 1000;
    expect(await at.answer("/api/licenses", { key: made.presented })).toMatchObject({
      status: 401,
      body: { code: "AUTH_EXPIRED" },
    });
  });
});

describe("headers of every answer", () => {
  const PATHS: [string, Ask][] = [
    ["/api/ping", {}],
    ["/api/nowhere", {}],
    ["/api/keys", { method: "PUT" }],
    ["/api/keys", { method: "OPTIONS" }],
    ["/api/licenses", { key: null }],
    ["/api/licenses/features?limit=x", {}],
    ["/swagger/assets/ui.css", {}],
  ];
  test.each(PATHS)("%s %j has its own request id or the client's", async (path, ask) => {
    const at = bench();
    const own = (await at.get(path, ask)).headers.get("x-request-id") ?? "";
    expect(own).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/);
    const kept = await at.get(path, { ...ask, headers: { "x-request-id": "a.B_c-1" } });
    expect(kept.headers.get("x-request-id")).toBe("a.B_c-1");
    for (const bad of ["", "a b", "x".repeat(129), "é"]) {
      const made = await at.get(path, { ...ask, headers: { "x-request-id": bad } });
      expect(made.headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
    }
  });

  test("answers of /api are private and vary by key", async () => {
    const at = bench();
    for (const [path, ask] of PATHS.filter(([path]) => path.startsWith("/api"))) {
      const { headers } = await at.get(path, ask);
      expect(headers.get("cache-control")).toBe("private, no-cache");
      expect(headers.get("vary")).toBe("Accept, X-API-Key, Authorization, Cookie");
    }
  });
});

test("the access log has the path without the query", async () => {
  const at = bench();
  await at.get("/api/licenses/features?search=secret-project", { headers: { "x-request-id": "trace-3" } });
  const answered = { requestId: "trace-3", method: "GET", path: "/api/licenses/features", status: 200 };
  const fields = { ...answered, keyId: "key000000001" };
  expect(at.logged.at(-1)).toMatchObject({ level: "debug", source: "http", fields });
  expect(JSON.stringify(at.logged)).not.toContain("secret-project");
});

test.each(["/api/ping", "/api/licenses/features", "/api/nowhere"])(
  "a request for %s is counted as received, whatever the answer",
  async (path) => {
    let now = 5_000;
    const counters = createRequestCounters(() => now);
    const app = createApp(bench().deps, counters);
    expect(counters.unaskedMs()).toBe(Infinity);
    await app.handle(new Request(`http://lic${path}`));
    now += 70;
    expect(counters.unaskedMs()).toBe(70);
  },
);
