import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { createReader } from "../../src/history/reader.ts";
import { LEAST_BYTES, takesGzip } from "../../src/http/answers/answer.ts";
import { migrate } from "../../src/store/database/migrate.ts";
import { MIGRATIONS } from "../../src/store/migrations/migrations.ts";
import { historyPort } from "./history-port.ts";
import { bench, feature, picture } from "./make.ts";

describe("accepted encodings", () => {
  test.each([
    [null, false],
    ["", false],
    // Headers of Prometheus, curl --compressed and browsers.
    ["gzip", true],
    ["deflate, gzip, br, zstd", true],
    ["gzip, deflate, br", true],
    ["GZip", true],
    ["x-gzip", true],
    ["gzip;q=1.0", true],
    ["gzip; q=0.5", true],
    ["gzip ;Q = 0.5", true],
    ["gzip;q=0", false],
    ["gzip;q=0.0, *", false],
    ["*", true],
    ["*;q=0", false],
    ["gzip, *;q=0", true],
    ["br", false],
    ["identity", false],
    ["identity;q=0", false],
    ["identity;q=0, gzip;q=0.1", true],
    ["identity, gzip", true],
    ["identity;q=0.5, gzip;q=0.4", false],
    ["identity;q=0.5, *;q=0.4", false],
    ["identity;q=0.4, gzip;q=0.5", true],
    ["gzip;q=nonsense", false],
    ["gzip;q=2", false],
    ["gzip;q=-1", false],
    ["gzip;q=", false],
    [",,;;=,", false],
    ["gzipped", false],
    ["gzip;level=9", true],
  ])("%p: %p", (header, expected) => expect(takesGzip(header)).toBe(expected));
});

const GZIP = { "accept-encoding": "gzip" };
const PLAIN_VARY = "Accept, X-API-Key, Authorization, Cookie";
const VARY = `Accept-Encoding, ${PLAIN_VARY}`;
const many = (count: number, used = 1) =>
  picture("eda", { features: Array.from({ length: count }, (_, n) => feature(`feature ${n}`, { used })) });

function site() {
  const at = bench({ history: historyPort(linesStored) });
  at.show(many(40));
  return at;
}

function linesStored() {
  const sqlite = new Database(":memory:", { strict: true });
  migrate(sqlite, "x.db", MIGRATIONS);
  const insert = sqlite.query("INSERT INTO events VALUES (?1, ?1, 'log', 'info', 'system', NULL, ?2)");
  for (let id = 1; id <= 50; id++) insert.run(id, LINE);
  return createReader(sqlite, { now: 0 });
}
const LINE = JSON.stringify({
  type: "log",
  id: "log-1795242213258",
  timestamp: "2026-03-01T12:00:00.000Z",
  level: "info",
  message: "A line that is stored, as long as lines are",
  source: "system",
  metadata: {},
});

const unzipped = async (response: Response) =>
  new TextDecoder().decode(Bun.gunzipSync(await response.arrayBuffer()));

describe("large answers", () => {
  test.each([
    "/metrics",
    "/api/licenses",
    "/api/licenses/features",
    "/api/licenses/features?format=csv",
    "/api/licenses/users",
    "/api/licenses/expirations",
    "/api/licenses/expirations.ics",
    "/api/logs/search",
    "/api/logs/search?format=csv",
    "/swagger/json",
    "/swagger/assets/ui.js",
  ])("%s is gzipped if accepted, and plain otherwise", async (path) => {
    const at = site();
    const plain = await at.get(path);
    const zipped = await at.get(path, { headers: GZIP });
    expect([plain.status, zipped.status]).toEqual([200, 200]);
    expect([plain.headers.get("content-encoding"), zipped.headers.get("content-encoding")]).toEqual([
      null,
      "gzip",
    ]);
    // All other headers are equal.
    const others = /^(content-encoding|etag|vary|x-request-id|(x-)?ratelimit-.*)$/;
    const rest = ({ headers }: Response) => [...headers].filter(([name]) => !others.test(name)).sort();
    expect(rest(zipped)).toEqual(rest(plain));
    // Documents are public, so they do not vary by key.
    expect([plain.headers.get("vary"), zipped.headers.get("vary")]).toEqual(
      path.startsWith("/swagger") ? [null, "Accept-Encoding"] : [PLAIN_VARY, VARY],
    );
    const text = await plain.text();
    expect(text.length).toBeGreaterThan(LEAST_BYTES);
    // The daemon's own counters change between requests.
    if (path !== "/metrics") expect(await unzipped(zipped)).toBe(text);
    else expect(await unzipped(zipped)).toContain("license_feature_seats_used{");
  });

  test("history, as made by the worker", async () => {
    const csv = `id,user\r\n${"1,ada\r\n".repeat(1_000)}`;
    const headers = { "content-type": "text/csv; charset=utf-8" };
    const made = { body: new TextEncoder().encode(csv), headers };
    const at = bench({ history: { query: () => Promise.resolve(made as never) } });
    const answer = await at.get("/api/licenses/sessions?format=csv", { headers: GZIP });
    expect(answer.headers.get("content-encoding")).toBe("gzip");
    expect(await unzipped(answer)).toBe(csv);
  });

  test("the raw output of a server's last poll", async () => {
    const at = site();
    const raw = { ...(await at.deps.collector.raw("eda")), stdout: new Uint8Array(5_000).fill(65) };
    const loud = bench({ collector: { ...at.deps.collector, raw: () => raw as never } });
    const answer = await loud.get("/api/licenses/servers/eda/raw", { key: loud.keys.admin, headers: GZIP });
    expect(answer.headers.get("content-encoding")).toBe("gzip");
    expect(JSON.parse(await unzipped(answer))).toMatchObject({ server: "eda", stdout: "A".repeat(5_000) });
  });

  test("OpenMetrics, and /api/metrics as text", async () => {
    const at = site();
    const accept = "application/openmetrics-text;version=1.0.0";
    for (const path of ["/metrics", "/api/metrics"]) {
      const answer = await at.get(path, { headers: { ...GZIP, accept } });
      expect(answer.headers.get("content-encoding")).toBe("gzip");
      expect(answer.headers.get("vary")).toBe(VARY);
      expect(await unzipped(answer)).toEndWith("# EOF\n");
    }
  });

  test("small answers stay plain, errors too", async () => {
    const at = site();
    for (const path of ["/api/ping", "/api/health", "/api/licenses/features?limit=1", "/api/nowhere"]) {
      const answer = await at.get(path, { headers: GZIP });
      expect([path, answer.headers.get("content-encoding")]).toEqual([path, null]);
      expect((await answer.text()).length).toBeLessThan(LEAST_BYTES);
    }
  });

  test("event streams are never compressed", async () => {
    const at = site();
    const answer = await at.get("/stream/combined", { headers: GZIP });
    expect(answer.headers.get("content-type")).toStartWith("text/event-stream");
    expect(answer.headers.get("content-encoding")).toBeNull();
    await answer.body?.cancel();
  });

  test("with a listed origin they vary by it too", async () => {
    const at = bench({}, { corsOrigins: ["https://wall.example"] });
    at.show(many(40));
    const answer = await at.get("/api/licenses", { headers: { ...GZIP, origin: "https://wall.example" } });
    expect(answer.headers.get("vary")).toBe(`${VARY}, Origin`);
  });
});

describe("tags", () => {
  const PATH = "/api/licenses/features";

  test("other bytes have another strong tag, and either gives a 304", async () => {
    const at = site();
    const tag = async (headers: Readonly<Record<string, string>>) =>
      (await at.get(PATH, { headers })).headers.get("etag") ?? "";
    const [plain, zipped] = [await tag({}), await tag(GZIP)];
    expect([plain, zipped]).toEqual([expect.stringMatching(/^"[\w-]+"$/), plain.replace(/"$/, '-gzip"')]);
    for (const held of [plain, zipped]) {
      for (const encoding of [{}, GZIP]) {
        const again = await at.get(PATH, { headers: { ...encoding, "if-none-match": `"other", W/${held}` } });
        expect([again.status, await again.text(), again.headers.get("etag")]).toEqual([304, "", held]);
        expect(again.headers.get("vary")).toBe(held === zipped ? VARY : PLAIN_VARY);
        expect(again.headers.get("content-encoding")).toBeNull();
      }
    }
    at.show(many(40, 2));
    for (const held of [plain, zipped])
      expect(await at.status(PATH, { headers: { ...GZIP, "if-none-match": held } })).toBe(200);
  });

  test("an answer that is being compressed belongs to one snapshot", async () => {
    const at = site();
    const told = await Promise.all(
      Array.from({ length: 30 }, async (_, n) => {
        at.show(many(400, n));
        const answer = await at.get(PATH, { headers: GZIP });
        const { features } = JSON.parse(await unzipped(answer)) as { features: { used: number }[] };
        return { tag: answer.headers.get("etag"), used: new Set(features.map(({ used }) => used)) };
      }),
    );
    // All rows of an answer are from one snapshot, the one in the tag.
    expect(told.map(({ used }) => used.size)).toEqual(told.map(() => 1));
    const pairs = new Set(told.map(({ tag, used }) => `${tag} ${[...used]}`));
    expect(pairs.size).toBe(new Set(told.map(({ tag }) => tag)).size);
    expect(pairs.size).toBe(new Set(told.map(({ used }) => `${[...used]}`)).size);
    expect(pairs.size).toBeGreaterThan(1);
  });
});
