import { afterEach, describe, expect, test } from "bun:test";
import type { HttpSettings } from "../../../src/http/deps.ts";
import { cleanUp } from "../../store/place.ts";
import { closeDoors, serve } from "../doors.ts";
import type { Ask, Bench } from "../make.ts";
import { codeOf, limited, rateOf } from "./limited.ts";

afterEach(cleanUp);
afterEach(closeDoors);

type AskOf = Ask | ((at: Bench) => Ask);
const resolve = (ask: AskOf, at: Bench) => (typeof ask === "function" ? ask(at) : ask);
const revoked = (at: Bench): Ask => ({ key: at.deps.keys.revoke("key000000001") && at.keys.viewer });
/** Six requests a minute, two at once: the third is refused, one comes back in 10 s. */
const tight = () => limited({ burst: 2, anonymousPerMinute: 6 });

async function empty(at: Bench) {
  for (let n = 0; n < 2; n++) expect((await at.get("/api/licenses", { key: null })).status).toBe(401);
}

describe("the address's bucket", () => {
  test.each<[string, string, AskOf, number]>([
    ["no key", "/api/licenses", { key: null }, 401],
    ["nonsense as a key", "/api/licenses", { key: "nonsense" }, 401],
    ["an unknown key", "/api/licenses", { key: `lmk_aaaaaaaaaaaa_${"x".repeat(43)}` }, 401],
    ["a known id with a wrong secret", "/api/licenses", { key: `lmk_key000000001_${"y".repeat(43)}` }, 401],
    ["a revoked key", "/api/licenses", revoked, 401],
    ["an unknown path", "/api/nowhere", { key: null }, 404],
    ["an unknown path with a wrong key", "/api/nowhere", { key: "nonsense" }, 404],
    ["a key in the query of a path that takes none", "/api/licenses?api_key=x", { key: null }, 401],
    ["a wrong method", "/api/keys", { key: null, method: "PUT" }, 405],
    ["a wrong method on an open path", "/api/ping", { key: null, method: "DELETE" }, 405],
    ["OPTIONS", "/api/keys", { key: null, method: "OPTIONS" }, 204],
    ["a stream without a key", "/stream/logs", { key: null }, 401],
  ])("is drawn on by %s, and then refuses it", async (_, path, ask, status) => {
    const at = tight();
    const asked = resolve(ask, at);
    const [first, second] = [await at.get(path, asked), await at.get(path, asked)];
    expect([first.status, rateOf(first)]).toEqual([status, [2, 1, 10]]);
    expect([second.status, rateOf(second)]).toEqual([status, [2, 0, 20]]);
    at.now += 1;
    const third = await at.get(path, asked);
    expect([third.status, rateOf(third), third.headers.get("retry-after")]).toEqual([429, [2, 0, 20], "10"]);
    expect(await third.json()).toMatchObject({
      error: "Too Many Requests",
      code: "RATE_LIMIT_EXCEEDED",
      message: expect.stringContaining("6 a minute, 2 at once"),
      requestId: third.headers.get("x-request-id"),
    });
    at.now += 9_999;
    expect((await at.get(path, asked)).status).toBe(status);
    expect((await at.get(path, asked)).status).toBe(429);
  });

  const assets = ["ui.js", "ui.css", "init.js"].map((name) => `/swagger/assets/${name}`);
  test.each(["/api/health", "/api/ping", "/", "/swagger", "/swagger/json", ...assets])(
    "lets %s pass, full or empty, and a wrong key does not matter there",
    async (path) => {
      const at = tight();
      for (let n = 0; n < 5; n++) {
        const response = await at.get(path, { key: n % 2 === 0 ? null : "nonsense" });
        expect([response.status, rateOf(response)]).toEqual([200, null]);
      }
      await empty(at);
      expect((await at.get(path, { key: null })).status).toBe(200);
    },
  );

  test("is not drawn on by a valid key, and does not keep it out when others have emptied it", async () => {
    const at = tight();
    for (let n = 0; n < 5; n++) {
      // Time enough for the key's bucket, none for the address's.
      at.now += 1;
      expect((await at.get("/api/licenses/summary")).status).toBe(200);
    }
    for (let n = 0; n < 5; n++) expect((await at.get("/api/nowhere")).status).toBe(404);
    for (let n = 0; n < 5; n++) expect((await at.get("/api/keys", { method: "PUT" })).status).toBe(405);
    await empty(at);
    expect((await at.get("/api/licenses", { key: null })).status).toBe(429);
    at.now += 1;
    const valid = await at.get("/api/licenses/summary");
    expect([valid.status, rateOf(valid)?.[0]]).toEqual([200, 2]);
  });

  test("refuses wrong keys without a word to the log, so that a flood of them is none of lines", async () => {
    const at = tight();
    const guess = (n: number) =>
      at.get("/api/licenses", { key: `lmk_${"a".repeat(12)}_${String(n).padStart(43, "x")}` });
    for (let n = 0; n < 200; n++) await guess(n);
    expect(at.logged.filter(({ message }) => message === "API key refused")).toHaveLength(2);
  });

  test("has a key checked once", async () => {
    let checks = 0;
    const at = limited({});
    const { verify } = at.deps.keys;
    at.deps.keys.verify = (presented) => {
      checks++;
      return verify(presented);
    };
    await at.get("/api/licenses/summary");
    expect(checks).toBe(1);
    await at.get("/api/ping");
    expect(checks).toBe(1);
  });
});

test.each<[string, string, Ask]>([
  ["an unknown path", "/api/nowhere", { key: null }],
  ["a wrong method", "/api/keys", { key: null, method: "PUT" }],
  ["the missing key", "/api/keys", { key: null }],
  ["the wrong key", "/api/keys", { key: "nonsense" }],
  ["the body", "/api/licenses/rescan", { key: null, method: "POST", body: " ".repeat(5000) }],
])("the order: the address before %s", async (_, path, ask) => {
  const at = tight();
  await empty(at);
  const response = await at.get(path, ask);
  expect([response.status, await codeOf(response)]).toEqual([429, "RATE_LIMIT_EXCEEDED"]);
});

describe("over a real port", () => {
  function proxied(more: Partial<HttpSettings> = {}) {
    const at = limited({ burst: 2, anonymousPerMinute: 6 }, more);
    const url = `http://127.0.0.1:${serve(at).port}/api/licenses`;
    const from = async (forwarded: string) =>
      (await fetch(url, { headers: { "x-forwarded-for": forwarded } })).status;
    return { at, from };
  }

  test("a stranger's X-Forwarded-For makes no new client of it", async () => {
    const { from } = proxied();
    expect([await from("203.0.113.1"), await from("203.0.113.2"), await from("203.0.113.3")]).toEqual([
      401, 401, 429,
    ]);
  });

  test("a trusted proxy's clients have a bucket each; a reload takes the trust away", async () => {
    const { at, from } = proxied({ trustedProxies: ["127.0.0.0/8"] });
    for (const client of ["203.0.113.1", "2001:db8::1"]) {
      expect([await from(client), await from(client), await from(client)]).toEqual([401, 401, 429]);
    }
    // The same /64, and what the client itself wrote before the proxy.
    expect(await from("2001:db8::beef")).toBe(429);
    expect(await from("198.51.100.1, 203.0.113.1")).toBe(429);
    expect(await from("203.0.113.4")).toBe(401);
    at.settings = { ...at.settings, trustedProxies: [] };
    expect([await from("203.0.113.5"), await from("203.0.113.6"), await from("203.0.113.7")]).toEqual([
      401, 401, 429,
    ]);
  });
});
