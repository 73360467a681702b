import { afterEach, describe, expect, test } from "bun:test";
import type { NewKey } from "../../src/domain/keys.ts";
import type { HttpSettings } from "../../src/http/deps.ts";
import { createQuotas } from "../../src/store/quotas.ts";
import { cleanUp, open, temporaryDirectory } from "../store/place.ts";
import { plainKey } from "../store/plain-key.ts";
import { closeDoors, handshake, serve } from "./doors.ts";
import { type Ask, type Bench, bench, PLENTY } from "./make.ts";

type Limited = Bench & { readonly quotas: ReturnType<typeof createQuotas> };

/** Creates a daemon with these limits and quotas in a real store. */
function limited(limits: Partial<HttpSettings["limits"]>, more: Partial<HttpSettings> = {}): Limited {
  const quotas = createQuotas({ store: open(temporaryDirectory()), clock: { now: () => made.now } });
  const made: Limited = Object.assign(bench({ quotas }, { limits: { ...PLENTY, ...limits }, ...more }), {
    quotas,
  });
  return made;
}

/** Creates a key with its own limits. */
function keyWith(at: Bench, change: Partial<NewKey>): string {
  const created = at.deps.keys.create(plainKey({ name: `own ${at.deps.keys.count()}`, ...change }));
  if (created.outcome !== "created") throw new Error(created.outcome);
  return created.presented;
}

/** Returns the `RateLimit-*` headers of an answer: capacity, remaining, seconds until full; null without them. */
function rateOf({ headers }: Response): readonly number[] | null {
  const values = ["limit", "remaining", "reset"].map((name) => headers.get(`ratelimit-${name}`));
  return values.every((value) => value === null) ? null : values.map(Number);
}

afterEach(cleanUp);
afterEach(closeDoors);

test("X-RateLimit-* are equal, with the Unix time at which the bucket is full", async () => {
  const at = tight();
  at.now = Date.UTC(2026, 2, 1, 12, 0, 0, 400);
  const answers = [];
  for (let n = 0; n < 3; n++) answers.push(await at.get("/api/licenses", { key: null }));
  const full = Date.UTC(2026, 2, 1, 12, 0, 1) / 1000;
  const own = answers.map(({ headers }) =>
    ["limit", "remaining", "reset"].map((name) => Number(headers.get(`x-ratelimit-${name}`))),
  );
  expect(own).toEqual([
    [2, 1, full + 10],
    [2, 0, full + 20],
    [2, 0, full + 20],
  ]);
  expect(answers.map(rateOf)).toEqual([
    [2, 1, 10],
    [2, 0, 20],
    [2, 0, 20],
  ]);
});

type AskOf = Ask | ((at: Bench) => Ask);
const resolve = (ask: AskOf, at: Bench) => (typeof ask === "function" ? ask(at) : ask);
const revoked = (at: Bench): Ask => ({ key: at.deps.keys.revoke("key000000001") && at.keys.viewer });
/** Six requests per minute, two at once: the third is refused, and one becomes available after 10 s. */
const tight = () => limited({ burst: 2, anonymousPerMinute: 6 });

async function empty(at: Bench) {
  for (let n = 0; n < 2; n++) expect(await at.status("/api/licenses", { key: null })).toBe(401);
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
    expect(await at.status(path, asked)).toBe(status);
    expect(await at.status(path, asked)).toBe(429);
  });

  const assets = ["ui.js", "ui.css", "init.js"].map((name) => `/swagger/assets/${name}`);
  test.each(["/api/health", "/api/ping", "/", "/swagger", "/swagger/json", ...assets])(
    "does not limit %s, and a wrong key does not matter there",
    async (path) => {
      const at = tight();
      for (let n = 0; n < 5; n++) {
        const response = await at.get(path, { key: n % 2 === 0 ? null : "nonsense" });
        expect([response.status, rateOf(response)]).toEqual([200, null]);
      }
      await empty(at);
      expect(await at.status(path, { key: null })).toBe(200);
    },
  );

  test("is not used by a valid key, and does not block it when others have emptied it", async () => {
    const at = tight();
    for (let n = 0; n < 5; n++) {
      // A millisecond is enough to refill the key's bucket, but not the address's bucket.
      at.now += 1;
      expect(await at.status("/api/licenses/summary")).toBe(200);
      expect(await at.status("/api/nowhere")).toBe(404);
      expect(await at.status("/api/keys", { method: "PUT" })).toBe(405);
    }
    await empty(at);
    expect(await at.status("/api/licenses", { key: null })).toBe(429);
    at.now += 1;
    const valid = await at.get("/api/licenses/summary");
    expect([valid.status, rateOf(valid)?.[0]]).toEqual([200, 2]);
  });

  test("refuses wrong keys without logging each of them", async () => {
    const at = tight();
    const guess = (n: number) =>
      at.get("/api/licenses", { key: `lmk_${"a".repeat(12)}_${String(n).padStart(43, "x")}` });
    for (let n = 0; n < 200; n++) await guess(n);
    expect(at.logged.filter(({ message }) => message === "API key refused")).toHaveLength(2);
  });

  test("verifies a key once", async () => {
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
  expect(await at.answer(path, ask)).toMatchObject({ status: 429, body: { code: "RATE_LIMIT_EXCEEDED" } });
});

test("clients of a trusted proxy have a bucket each, until a reload removes the trust", async () => {
  const at = limited({ burst: 2, anonymousPerMinute: 6 }, { trustedProxies: ["127.0.0.0/8"] });
  const url = `http://127.0.0.1:${serve(at).port}/api/licenses`;
  const from = async (forwarded: string) =>
    (await fetch(url, { headers: { "x-forwarded-for": forwarded } })).status;
  for (const client of ["203.0.113.1", "2001:db8::1"])
    expect([await from(client), await from(client), await from(client)]).toEqual([401, 401, 429]);
  // The address is in the same /64, or the client wrote another address before the address that the proxy
  // adds.
  expect(await from("2001:db8::beef")).toBe(429);
  expect(await from("198.51.100.1, 203.0.113.1")).toBe(429);
  expect(await from("203.0.113.4")).toBe(401);
  at.settings = { ...at.settings, trustedProxies: [] };
  const clients = ["203.0.113.5", "203.0.113.6", "203.0.113.7"];
  expect([await from(clients[0] ?? ""), await from(clients[1] ?? ""), await from(clients[2] ?? "")]).toEqual([
    ...[401, 401, 429],
  ]);
});

const SUMMARY = "/api/licenses/summary";
const headers = { "content-type": "application/json" };
const post = (body: string): Ask => ({ method: "POST", body, headers });

/** Answers to a valid key after the first four steps of the gate. */
const ANSWERS: [string, number, (at: Bench) => Promise<Response>][] = [
  ["200", 200, (at) => at.get(SUMMARY)],
  ["HEAD", 200, (at) => at.get(SUMMARY, { method: "HEAD" })],
  ["304", 304, (at) => at.get(SUMMARY, { headers: { "if-none-match": "*" } })],
  ["400", 400, (at) => at.get("/api/licenses/features?limit=x")],
  ["403", 403, (at) => at.get("/api/keys")],
  ["404 of the route", 404, (at) => at.get("/api/licenses/servers/nobody")],
  ["413", 413, (at) => at.get("/api/keys", { key: at.keys.admin, ...post(" ".repeat(5000)) })],
  ["a body that is no JSON", 400, (at) => at.get("/api/keys", { key: at.keys.admin, ...post("{") })],
  ["a stream", 200, (at) => opened(at.get("/stream/logs"))],
  ["a stream by query", 200, (at) => opened(at.get(`/stream/logs?api_key=${at.keys.viewer}`, { key: null }))],
];

async function opened(stream: Promise<Response>): Promise<Response> {
  const response = await stream;
  await response.body?.cancel();
  return response;
}

describe("the key's bucket", () => {
  test("allows its burst, then its rate", async () => {
    const at = limited({ burst: 3, requestsPerMinute: 120 });
    const seen = [];
    for (let n = 0; n < 4; n++) {
      const response = await at.get(SUMMARY);
      seen.push([response.status, rateOf(response), response.headers.get("retry-after")]);
    }
    expect(seen).toEqual([
      [200, [3, 2, 1], null],
      [200, [3, 1, 1], null],
      [200, [3, 0, 2], null],
      [429, [3, 0, 2], "1"],
    ]);
    at.now += 499;
    const message = expect.stringMatching(/120 a minute, 3 at once/);
    const body = { error: "Too Many Requests", code: "RATE_LIMIT_EXCEEDED", message };
    expect(await at.answer(SUMMARY)).toMatchObject({ body });
    at.now += 1;
    expect(await at.status(SUMMARY)).toBe(200);
    at.now += 3_600_000;
    expect(rateOf(await at.get(SUMMARY))).toEqual([3, 2, 1]);
  });

  test("is separate for each key, with the key's own rate", async () => {
    const at = limited({ burst: 1, requestsPerMinute: 600 });
    const slow = keyWith(at, { requestsPerMinute: 6 });
    const retry = async (key: string) => {
      await at.get(SUMMARY, { key });
      return (await at.get(SUMMARY, { key })).headers.get("retry-after");
    };
    expect([await retry(at.keys.viewer), await retry(slow)]).toEqual(["1", "10"]);
    expect(await at.status(SUMMARY, { key: at.keys.operator })).toBe(200);
    expect(await at.status(SUMMARY, { key: at.keys.admin })).toBe(200);
  });

  test("never allows a key more at once than its requests a minute", async () => {
    const at = limited({ burst: 100, requestsPerMinute: 600 });
    const slow = keyWith(at, { requestsPerMinute: 5 });
    for (const status of [200, 200, 200, 200, 200])
      expect(await at.status(SUMMARY, { key: slow })).toBe(status);
    const body = { message: expect.stringMatching(/5 a minute, 5 at once/) };
    expect(await at.answer(SUMMARY, { key: slow })).toMatchObject({ status: 429, body });
    const fast = keyWith(at, { requestsPerMinute: 6000 });
    expect(rateOf(await at.get(SUMMARY, { key: fast }))?.[0]).toBe(100);
  });

  test.each(ANSWERS)("is reported on %s, which counts once", async (_, status, ask) => {
    const at = limited({ burst: 9, requestsPerMinute: 60 });
    const response = await ask(at);
    expect([response.status, rateOf(response)]).toEqual([status, [9, 8, 1]]);
    const used = Object.values(at.keys).map((key) => at.quotas.used(key.slice(4, 16)).day);
    expect(used.reduce((sum, n) => sum + n)).toBe(1);
  });

  test("is reported on 101 too", async () => {
    const at = limited({ burst: 9, requestsPerMinute: 60 });
    const head = await handshake(serve(at).port, { Host: "lic", "X-API-Key": at.keys.viewer });
    expect(head).toStartWith("HTTP/1.1 101");
    for (const header of [/ratelimit-limit: 9\r\n/i, /ratelimit-remaining: 8\r\n/i, /x-request-id: /i])
      expect(head).toMatch(header);
  });

  test("uses a reload's limits from the next request on", async () => {
    const at = limited({ burst: 1, requestsPerMinute: 60 });
    await at.get(SUMMARY);
    expect(await at.status(SUMMARY)).toBe(429);
    at.settings = { ...at.settings, limits: { ...at.settings.limits, burst: 5, requestsPerMinute: 60_000 } };
    at.now += 3;
    expect(rateOf(await at.get(SUMMARY))).toEqual([5, 2, 1]);
  });

  test.each<[string, string, Ask, number]>([
    ["after an unknown path", "/api/nowhere", {}, 404],
    ["after a wrong method", SUMMARY, { method: "PUT" }, 405],
    ["after a wrong key", SUMMARY, { key: "nonsense" }, 401],
    ["before the role", "/api/keys", {}, 429],
    ["before the body", "/api/licenses/rescan", post("{"), 429],
    ["before the query", "/api/licenses/features?limit=x", {}, 429],
    ["before the route", "/api/licenses/servers/nobody", {}, 429],
  ])("is checked %s", async (_, path, ask, status) => {
    const at = limited({ burst: 1, requestsPerMinute: 1 });
    await at.get(SUMMARY);
    expect(await at.status(path, ask)).toBe(status);
  });
});

describe("a quota", () => {
  test("of a day ends at midnight UTC", async () => {
    const at = limited({ dailyQuota: 2 });
    expect([await at.status(SUMMARY), await at.status(SUMMARY)]).toEqual([200, 200]);
    const refused = await at.get(SUMMARY);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, String(12 * 3600)]);
    expect(rateOf(refused)).not.toBeNull();
    expect(await refused.json()).toMatchObject({
      error: "Too Many Requests",
      code: "QUOTA_EXCEEDED",
      message: expect.stringMatching(/2 requests of this day .*2026-03-02T00:00:00.000Z/),
    });
    at.now += 12 * 3_600_000 - 1;
    expect((await at.get(SUMMARY)).headers.get("retry-after")).toBe("1");
    at.now += 1;
    expect(await at.status(SUMMARY)).toBe(200);
  });

  test("of a month ends on the first, UTC", async () => {
    const at = limited({ dailyQuota: 1, monthlyQuota: 1 });
    await at.get(SUMMARY);
    const refused = await at.get(SUMMARY);
    // From March 1st, noon, until April 1st.
    expect(refused.headers.get("retry-after")).toBe(String(30.5 * 86_400));
    const message = expect.stringMatching(/of this month .*2026-04-01T00:00/);
    expect(await refused.json()).toMatchObject({ message });
  });

  test("of the key overrides the config's, for this key only", async () => {
    const at = limited({ dailyQuota: 1 });
    const rich = keyWith(at, { dailyQuota: 3 });
    const poor = keyWith(at, { monthlyQuota: 2, dailyQuota: 9 });
    const passed = async (key: string) => {
      let n = 0;
      while ((await at.status(SUMMARY, { key })) === 200) n++;
      return n;
    };
    expect([await passed(at.keys.viewer), await passed(rich), await passed(poor)]).toEqual([1, 3, 2]);
  });

  test("changed by the command line applies from the next request on", async () => {
    const at = limited({});
    const { verify } = at.deps.keys;
    let dailyQuota: number | null = 1;
    at.deps.keys.verify = (text) => {
      const check = verify(text);
      return check.outcome === "invalid" ? check : { ...check, key: { ...check.key, dailyQuota } };
    };
    const status = async () => await at.status(SUMMARY);
    expect([await status(), await status()]).toEqual([200, 429]);
    dailyQuota = 2;
    expect([await status(), await status()]).toEqual([200, 429]);
    dailyQuota = null;
    expect(await status()).toBe(200);
  });

  test("does not count 401, 429, refusals before the key, or routes without a key", async () => {
    const at = limited({ burst: 2, requestsPerMinute: 1, dailyQuota: 1 });
    const used = () => at.quotas.used("key000000001").day;
    await at.get("/api/nowhere");
    await at.get(SUMMARY, { method: "PUT" });
    await at.get("/api/ping");
    await at.get(SUMMARY, { key: `lmk_key000000001_${"y".repeat(43)}` });
    expect(used()).toBe(0);
    await at.get(SUMMARY);
    expect(used()).toBe(1);
    for (const code of ["QUOTA_EXCEEDED", "RATE_LIMIT_EXCEEDED"])
      expect(await at.answer(SUMMARY)).toMatchObject({ body: { code } });
    expect(used()).toBe(1);
    at.deps.keys.revoke("key000000001");
    expect(await at.status(SUMMARY)).toBe(401);
    expect(used()).toBe(1);
  });
});
