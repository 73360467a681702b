import { afterEach, describe, expect, test } from "bun:test";
import type { HttpSettings } from "../../src/http/deps.ts";
import type { Listening } from "../../src/http/listen.ts";
import { closeDoors, handshake, serve } from "./doors.ts";
import { type Ask, type Bench, bench, PLENTY } from "./make.ts";

const WALL = "https://wall.example";
afterEach(closeDoors);

const site = (settings: Partial<HttpSettings> = {}) => bench({}, settings);

const allowed = ({ headers }: Response) =>
  [...headers.keys()].filter((name) => name.startsWith("access-control-"));

describe("CORS", () => {
  const ASKS: [string, Ask][] = [
    ["/api/licenses/summary", {}],
    ["/api/licenses/summary", { method: "OPTIONS", headers: { "access-control-request-method": "GET" } }],
    ["/api/licenses/summary", { key: null }],
    ["/api/nowhere", {}],
    ["/stream/logs", {}],
    ["/api/ping", {}],
  ];

  test.each(ASKS)("is off by default: %s %j", async (path, ask) => {
    const response = await site().get(path, { ...ask, headers: { ...ask.headers, origin: WALL } });
    await response.body?.cancel();
    expect(allowed(response)).toEqual([]);
    expect(response.headers.get("vary") ?? "").not.toContain("Origin");
  });

  const LISTED = [WALL, "http://localhost:3000"];
  test.each(LISTED)("lets a listed origin read every answer: %s", async (origin) => {
    const asks: [string, Ask, number][] = [
      ["/api/licenses/summary", {}, 200],
      ["/api/licenses/summary", { headers: { "if-none-match": "*" } }, 304],
      ["/api/licenses/summary", { key: null }, 401],
      ["/api/keys", {}, 403],
      ["/api/nowhere", {}, 404],
      ["/api/keys", { method: "PUT" }, 405],
      ["/api/licenses/features?limit=x", {}, 400],
      ["/stream/logs", {}, 200],
      ["/api/ping", {}, 200],
      ["/swagger/json", {}, 200],
    ];
    const at = site({ corsOrigins: LISTED });
    for (const [path, ask, status] of asks) {
      const response = await at.get(path, { ...ask, headers: { ...ask.headers, origin } });
      await response.body?.cancel();
      expect([path, response.status]).toEqual([path, status]);
      expect(response.headers.get("access-control-allow-origin")).toBe(origin);
      expect(response.headers.get("access-control-expose-headers")).toBe(
        "X-Request-ID, Retry-After, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, ETag",
      );
      expect(response.headers.get("vary")).toEndWith("Origin");
      if (path.startsWith("/api")) expect(response.headers.get("vary")).toContain("X-API-Key");
      expect(response.headers.has("access-control-allow-credentials")).toBe(false);
    }
  });

  test("lets it read refusals for too many requests", async () => {
    const at = site({ corsOrigins: [WALL], limits: { ...PLENTY, burst: 1, requestsPerMinute: 1 } });
    await at.get("/api/licenses");
    const refused = await at.get("/api/licenses", { headers: { origin: WALL } });
    expect([refused.status, refused.headers.get("access-control-allow-origin")]).toEqual([429, WALL]);
  });

  test.each([
    "https://wall.example.evil.example",
    "https://evil.example",
    "http://wall.example",
    "https://wall.example:8443",
    "https://WALL.example",
    "https://wall.example/",
    "null",
    "*",
    "",
  ])("an origin that is not listed gets no headers: %p", async (origin) => {
    const at = site({ corsOrigins: [WALL] });
    for (const [path, ask] of ASKS) {
      const response = await at.get(path, { ...ask, headers: { ...ask.headers, origin } });
      await response.body?.cancel();
      expect(allowed(response)).toEqual([]);
      // Without this, a cache could serve the answer for a listed origin to another one, and vice versa.
      expect(response.headers.get("vary")).toEndWith("Origin");
    }
  });

  test("without an Origin nothing is allowed and everything works", async () => {
    const response = await site({ corsOrigins: [WALL] }).get("/api/licenses/summary");
    expect([response.status, allowed(response)]).toEqual([200, []]);
    expect(response.headers.get("vary")).toBe("Accept, X-API-Key, Authorization, Cookie, Origin");
  });
});

describe("a preflight", () => {
  const WANTED = { "access-control-request-method": "DELETE", "access-control-request-headers": "x-api-key" };
  const preflight = (at: Bench, path: string, origin = WALL) =>
    at.get(path, { key: null, method: "OPTIONS", headers: { origin, ...WANTED } });

  test("of a listed origin is answered without a key", async () => {
    const response = await preflight(site({ corsOrigins: [WALL] }), "/api/keys/abc");
    expect([response.status, await response.text()]).toEqual([204, ""]);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "access-control-allow-origin": WALL,
      "access-control-allow-methods": "GET, HEAD, DELETE, OPTIONS",
      "access-control-allow-headers":
        "X-API-Key, Authorization, Content-Type, Last-Event-ID, X-Request-ID, If-None-Match",
      "access-control-max-age": "600",
      allow: "GET, HEAD, DELETE, OPTIONS",
      vary: "Accept, X-API-Key, Authorization, Cookie, Origin",
      "x-content-type-options": "nosniff",
    });
    expect(response.headers.get("x-request-id")).toBeTruthy();
    expect(response.headers.has("access-control-allow-credentials")).toBe(false);
  });

  test("of a listed origin uses no bucket, because its requests carry a key", async () => {
    const at = site({ corsOrigins: [WALL], limits: { ...PLENTY, burst: 1, anonymousPerMinute: 1 } });
    for (let n = 0; n < 3; n++) expect((await preflight(at, "/api/licenses")).status).toBe(204);
    expect(await at.status("/api/licenses", { key: null })).toBe(401);
    expect(await at.status("/api/licenses", { key: null })).toBe(429);
    expect((await preflight(at, "/api/licenses")).status).toBe(204);
    expect((await preflight(at, "/api/licenses", "https://evil.example")).status).toBe(429);
    expect((await preflight(site({ corsOrigins: [WALL] }), "/api/nowhere")).status).toBe(404);
  });

  test("of another origin is a plain OPTIONS", async () => {
    const response = await preflight(site({ corsOrigins: [WALL] }), "/api/keys", "https://evil.example");
    expect([response.status, response.headers.get("allow"), allowed(response)]).toEqual([
      204,
      "GET, HEAD, POST, OPTIONS",
      [],
    ]);
  });
});

describe("a WebSocket's Origin", () => {
  /** Returns the status of a handshake, and the error code of a refusal. */
  async function outcomeOf({ port }: Listening, key: string, headers: Record<string, string>) {
    const answer = await handshake(port, { "X-API-Key": key, ...headers });
    return `${answer.slice(9, 12)} ${/"code":"(\w+)"/.exec(answer)?.[1] ?? ""}`.trim();
  }

  const REFUSED = "403 AUTH_INSUFFICIENT";
  const CLAIMS_TLS = { Host: "lic", Origin: "https://lic", "X-Forwarded-Proto": "https" };
  test.each<[string, Record<string, string>, string]>([
    ["none: no browser", { Host: "lic" }, "101"],
    ["the same", { Host: "lic:8080", Origin: "http://lic:8080" }, "101"],
    ["the same, with the port left out", { Host: "lic", Origin: "http://lic" }, "101"],
    ["the same, with the port said", { Host: "lic:80", Origin: "http://lic" }, "101"],
    ["the same, in other letters", { Host: "LIC:8080", Origin: "http://lic:8080" }, "101"],
    ["the same, IPv6", { Host: "[::1]:8080", Origin: "http://[::1]:8080" }, "101"],
    ["another port", { Host: "lic:8080", Origin: "http://lic:9090" }, REFUSED],
    ["another scheme", { Host: "lic:8080", Origin: "https://lic:8080" }, REFUSED],
    ["another host", { Host: "lic:8080", Origin: "http://evil.example" }, REFUSED],
    ["another host that ends alike", { Host: "lic", Origin: "http://evil-lic" }, REFUSED],
    ["a sandboxed page's", { Host: "lic", Origin: "null" }, REFUSED],
    ["empty", { Host: "lic", Origin: "" }, REFUSED],
    ["a listed one", { Host: "lic:8080", Origin: WALL }, "101"],
    ["declared secure by another client", CLAIMS_TLS, REFUSED],
  ])("%s", async (_, headers, outcome) => {
    const at = site({ corsOrigins: [WALL] });
    expect(await outcomeOf(serve(at), at.keys.viewer, headers)).toBe(outcome);
  });

  test("behind a trusted TLS proxy is compared with the browser's origin", async () => {
    const at = site({ trustedProxies: ["127.0.0.1"] });
    const door = serve(at);
    const secure = { Host: "lic", "X-Forwarded-Proto": "https" };
    expect(await outcomeOf(door, at.keys.viewer, { ...secure, Origin: "https://lic" })).toBe("101");
    expect(await outcomeOf(door, at.keys.viewer, { ...secure, Origin: "http://lic" })).toBe(REFUSED);
  });

  test("is checked after the key and the role, and not for server-sent events", async () => {
    const at = site();
    const evil = { origin: "https://evil.example" };
    expect(await at.status("/ws/logs", { key: null, headers: evil })).toBe(401);
    const refused = await at.get("/ws/logs", { headers: { ...evil, upgrade: "websocket" } });
    expect(await refused.json()).toMatchObject({
      code: "AUTH_INSUFFICIENT",
      message: expect.stringMatching(/"https:\/\/evil\.example" .*http\.cors_origins/),
    });
    const events = await at.get("/stream/logs", { headers: evil });
    await events.body?.cancel();
    expect([events.status, allowed(events)]).toEqual([200, []]);
  });
});

describe("headers of every answer", () => {
  /** All registered GET routes, so that a new page is tested too. Ids are filled in. */
  const routes = bench().app.routes.filter(({ method }) => method === "GET");
  const paths = new Set(routes.map(({ path }) => path.replaceAll(/:\w+/g, "eda")));

  test.each([...paths, "/api/nowhere"])(
    "%s forbids framing, sniffing, referrers and scripts",
    async (path) => {
      for (const key of [undefined, null]) {
        const response = await site().get(path, key === null ? { key } : {});
        const type = response.headers.get("content-type") ?? "";
        if (type.startsWith("text/event-stream")) await response.body?.cancel();
        expect(response.headers.get("x-content-type-options")).toBe("nosniff");
        expect(response.headers.get("referrer-policy")).toBe("no-referrer");
        expect(response.headers.has("set-cookie")).toBe(false);
        expect(response.headers.has("strict-transport-security")).toBe(false);

        const policy = new Map(
          (response.headers.get("content-security-policy") ?? "")
            .split(";")
            .map((part) => part.trim().split(/ (.*)/) as [string, string]),
        );
        expect(policy.get("default-src")).toBe("'none'");
        expect(policy.get("frame-ancestors")).toBe("'none'");
        expect(policy.get("script-src") ?? "'self'").toMatch(/^'self'( 'sha256-[A-Za-z0-9+/]+=*')?$/);
        if (!type.startsWith("text/html")) continue;
        const page = await response.text();
        const scripts = [...page.matchAll(/<script\b([^>]*)>([\s\S]*?)<\/script>/g)];
        // Inline scripts need their hash in the policy; scripts with `src` must be empty.
        const allowed = policy.get("script-src") ?? "";
        const hashOf = (code: string) => new Bun.CryptoHasher("sha256").update(code).digest("base64");
        expect(
          scripts.filter(([, attributes = "", code = ""]) =>
            attributes.includes("src=") ? code !== "" : !allowed.includes(`'sha256-${hashOf(code)}'`),
          ),
        ).toEqual([]);
        expect(page).not.toMatch(/\son\w+\s*=|javascript:/i);
      }
    },
  );
});
