import { afterEach, describe, expect, test } from "bun:test";
import { cleanUp } from "../../store/place.ts";
import { closeDoors, handshake, serve } from "../doors.ts";
import type { Ask, Bench } from "../make.ts";
import { codeOf, limited, rateOf } from "./limited.ts";

afterEach(cleanUp);
afterEach(closeDoors);

const SUMMARY = "/api/licenses/summary";
const post = (body: string): Ask => ({
  method: "POST",
  body,
  headers: { "content-type": "application/json" },
});

/** Whatever a valid key may get for an answer, once the gate's first four steps are passed. */
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
  [
    "a stream with its key in the query",
    200,
    (at) => opened(at.get(`/stream/logs?api_key=${at.keys.viewer}`, { key: null })),
  ],
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
    expect(await (await at.get(SUMMARY)).json()).toMatchObject({
      error: "Too Many Requests",
      code: "RATE_LIMIT_EXCEEDED",
      message: expect.stringMatching(/120 a minute, 3 at once/),
    });
    at.now += 1;
    expect((await at.get(SUMMARY)).status).toBe(200);
    at.now += 3_600_000;
    expect(rateOf(await at.get(SUMMARY))).toEqual([3, 2, 1]);
  });

  test("is each key's own, with its own rate where it has one", async () => {
    const at = limited({ burst: 1, requestsPerMinute: 600 });
    const slow = at.make({ requestsPerMinute: 6 });
    const retry = async (key: string) => {
      await at.get(SUMMARY, { key });
      return (await at.get(SUMMARY, { key })).headers.get("retry-after");
    };
    expect([await retry(at.keys.viewer), await retry(slow)]).toEqual(["1", "10"]);
    expect((await at.get(SUMMARY, { key: at.keys.operator })).status).toBe(200);
    expect((await at.get(SUMMARY, { key: at.keys.admin })).status).toBe(200);
  });

  test("never allows a key more at once than its own requests a minute", async () => {
    const at = limited({ burst: 100, requestsPerMinute: 600 });
    const slow = at.make({ requestsPerMinute: 5 });
    const seen = [];
    for (let n = 0; n < 6; n++) seen.push((await at.get(SUMMARY, { key: slow })).status);
    expect(seen).toEqual([200, 200, 200, 200, 200, 429]);
    const refused = await at.get(SUMMARY, { key: slow });
    expect([rateOf(refused)?.[0], ((await refused.json()) as { message: string }).message]).toEqual([
      5,
      expect.stringMatching(/5 a minute, 5 at once/),
    ]);
    const fast = at.make({ requestsPerMinute: 6000 });
    expect(rateOf(await at.get(SUMMARY, { key: fast }))?.[0]).toBe(100);
  });

  test.each(ANSWERS)("is told on %s, which counts once", async (_, status, ask) => {
    const at = limited({ burst: 9, requestsPerMinute: 60 });
    const response = await ask(at);
    expect([response.status, rateOf(response)]).toEqual([status, [9, 8, 1]]);
    const used = Object.values(at.keys).map((key) => at.quotas.used(key.slice(4, 16)).day);
    expect(used.reduce((sum, n) => sum + n)).toBe(1);
  });

  test("is told on 101 too", async () => {
    const at = limited({ burst: 9, requestsPerMinute: 60 });
    const head = await handshake(serve(at).port, { Host: "lic", "X-API-Key": at.keys.viewer });
    expect(head).toStartWith("HTTP/1.1 101");
    for (const header of [/ratelimit-limit: 9\r\n/i, /ratelimit-remaining: 8\r\n/i, /x-request-id: /i])
      expect(head).toMatch(header);
  });

  test("takes a reload's limits from the next request on", async () => {
    const at = limited({ burst: 1, requestsPerMinute: 60 });
    await at.get(SUMMARY);
    expect((await at.get(SUMMARY)).status).toBe(429);
    at.settings = { ...at.settings, limits: { ...at.settings.limits, burst: 5, requestsPerMinute: 60_000 } };
    at.now += 3;
    expect(rateOf(await at.get(SUMMARY))).toEqual([5, 2, 1]);
  });

  test.each<[string, string, Ask, number]>([
    ["behind an unknown path", "/api/nowhere", {}, 404],
    ["behind a wrong method", SUMMARY, { method: "PUT" }, 405],
    ["behind a wrong key", SUMMARY, { key: "nonsense" }, 401],
    ["before the role", "/api/keys", {}, 429],
    ["before the body", "/api/licenses/rescan", post("{"), 429],
    ["before the query", "/api/licenses/features?limit=x", {}, 429],
    ["before the route", "/api/licenses/servers/nobody", {}, 429],
  ])("stands %s", async (_, path, ask, status) => {
    const at = limited({ burst: 1, requestsPerMinute: 1 });
    await at.get(SUMMARY);
    expect((await at.get(path, ask)).status).toBe(status);
  });
});

describe("a quota", () => {
  test("of a day ends at midnight UTC", async () => {
    const at = limited({ dailyQuota: 2 });
    expect([(await at.get(SUMMARY)).status, (await at.get(SUMMARY)).status]).toEqual([200, 200]);
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
    expect((await at.get(SUMMARY)).status).toBe(200);
  });

  test("of a month ends on the first, UTC", async () => {
    const at = limited({ dailyQuota: 1, monthlyQuota: 1 });
    await at.get(SUMMARY);
    const refused = await at.get(SUMMARY);
    // March 1st, noon, until April 1st.
    expect(refused.headers.get("retry-after")).toBe(String(30.5 * 86_400));
    expect(await refused.json()).toMatchObject({
      message: expect.stringMatching(/of this month .*2026-04-01T00:00/),
    });
  });

  test("of the key beats the config's, and holds for it alone", async () => {
    const at = limited({ dailyQuota: 1 });
    const rich = at.make({ dailyQuota: 3 });
    const poor = at.make({ monthlyQuota: 2, dailyQuota: 9 });
    const passed = async (key: string) => {
      let n = 0;
      while ((await at.get(SUMMARY, { key })).status === 200) n++;
      return n;
    };
    expect([await passed(at.keys.viewer), await passed(rich), await passed(poor)]).toEqual([1, 3, 2]);
  });

  test("that is changed beside the daemon holds from the next request on", async () => {
    const at = limited({});
    const { verify } = at.deps.keys;
    let dailyQuota: number | null = 1;
    at.deps.keys.verify = (text) => {
      const check = verify(text);
      return check.outcome === "invalid" ? check : { ...check, key: { ...check.key, dailyQuota } };
    };
    const status = async () => (await at.get(SUMMARY)).status;
    expect([await status(), await status()]).toEqual([200, 429]);
    dailyQuota = 2;
    expect([await status(), await status()]).toEqual([200, 429]);
    dailyQuota = null;
    expect(await status()).toBe(200);
  });

  test("does not count 401, 429, what comes before the key, or what needs none", async () => {
    const at = limited({ burst: 2, requestsPerMinute: 1, dailyQuota: 1 });
    const used = () => at.quotas.used("key000000001").day;
    await at.get("/api/nowhere");
    await at.get(SUMMARY, { method: "PUT" });
    await at.get("/api/ping");
    await at.get(SUMMARY, { key: `lmk_key000000001_${"y".repeat(43)}` });
    expect(used()).toBe(0);
    await at.get(SUMMARY);
    expect(used()).toBe(1);
    expect(await codeOf(await at.get(SUMMARY))).toBe("QUOTA_EXCEEDED");
    expect(await codeOf(await at.get(SUMMARY))).toBe("RATE_LIMIT_EXCEEDED");
    expect(used()).toBe(1);
    at.deps.keys.revoke("key000000001");
    expect((await at.get(SUMMARY)).status).toBe(401);
    expect(used()).toBe(1);
  });
});
