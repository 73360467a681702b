import { afterEach, describe, expect, test } from "bun:test";
import type { HttpSettings } from "../../src/http/deps.ts";
import { browserOf } from "../../src/http/sign-in.ts";
import { createQuotas } from "../../src/store/quotas.ts";
import { cleanUp, open, temporaryDirectory } from "../store/place.ts";
import { plainKey } from "../store/plain-key.ts";
import { closeDoors, handshake, serve } from "./doors.ts";
import { type Ask, type Bench, bench, PLENTY } from "./make.ts";

afterEach(cleanUp);
afterEach(closeDoors);

const HOUR = 3_600_000;
const WALL = "https://wall.example";
const PAGE = { "x-licmond": "page" };
type Who = keyof Bench["keys"];
type Headers = Record<string, string>;

const site = (settings: Partial<HttpSettings> = {}) => bench({}, settings);

/** Sends `POST /api/signin` as the page does. */
const attempt = (at: Bench, body: object, headers: Headers = {}) =>
  at.get("/api/signin", {
    key: null,
    method: "POST",
    body: JSON.stringify(body),
    headers: { "content-type": "application/json", ...PAGE, ...headers },
  });

/** Signs in with a key and returns the browser's headers. */
async function signIn(at: Bench, key: string, stay = false): Promise<{ cookie: string }> {
  const answer = await attempt(at, { key, stay });
  if (answer.status !== 204) throw new Error(await answer.text());
  return { cookie: answer.headers.get("set-cookie")?.split(";")[0] ?? "" };
}

const by = (headers: Headers, more: Ask = {}): Ask => ({
  key: null,
  ...more,
  headers: { ...headers, ...more.headers },
});

async function outcome(response: Response): Promise<string> {
  const { status } = response;
  return status < 400 ? String(status) : `${status} ${((await response.json()) as { code: string }).code}`;
}

async function codeFor(at: Bench, key: string, body: object = {}): Promise<string> {
  const answer = await at.post("/api/signin/code", body, key);
  return ((await answer.json()) as { code: string }).code;
}

describe("signing in", () => {
  const PROXIED = { trustedProxies: ["127.0.0.1"] };
  const AS_TLS = { "x-forwarded-proto": "https" };
  const FROM_PAGE = { ...AS_TLS, origin: "https://lic", host: "lic" };
  const COOKIE = /^licmond_0123abcd=[a-z0-9]{12}\.[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/;
  const STAYS = /^licmond_0123abcd=\S+; Path=\/; Max-Age=2592000; HttpOnly; SameSite=Strict$/;
  const SECURE = /^__Host-licmond_0123abcd=\S+; Path=\/; Secure; HttpOnly; SameSite=Strict$/;
  test.each<[string, Partial<HttpSettings>, boolean, Headers, RegExp]>([
    ["plain", {}, false, {}, COOKIE],
    ["to stay", {}, true, {}, STAYS],
    ["TLS ended by a trusted proxy", PROXIED, false, FROM_PAGE, SECURE],
    ["TLS claimed by another client", {}, false, AS_TLS, /^licmond_0123abcd=/],
  ])("%s: its cookie, and a request by it", async (_, settings, stay, headers, form) => {
    const at = site(settings);
    const { port } = serve(at);
    const url = `http://127.0.0.1:${port}`;
    const answer = await fetch(`${url}/api/signin`, {
      method: "POST",
      headers: { "content-type": "application/json", ...PAGE, ...headers },
      body: JSON.stringify({ key: at.keys.viewer, stay }),
    });
    expect([answer.status, answer.headers.get("set-cookie")]).toEqual([204, expect.stringMatching(form)]);
    const [cookie = ""] = answer.headers.get("set-cookie")?.split(";") ?? [];
    const me = await fetch(`${url}/api/me`, { headers: { ...headers, cookie: `a=b; ${cookie}; c="d` } });
    expect(await me.json()).toMatchObject({ role: "viewer", signIn: { stay, current: true } });
    // Over HTTP the cookie has another name, so the `__Host-` cookie of HTTPS is ignored.
    const plain = await fetch(`${url}/api/me`, { headers: { cookie } });
    expect(plain.status).toBe(cookie.startsWith("__Host-") ? 401 : 200);
  });

  const revoked = (at: Bench) => at.deps.keys.revoke("key000000001");
  test.each<[string, (at: Bench) => object, string]>([
    ["viewer", (at) => ({ key: at.keys.viewer }), "204"],
    ["operator", (at) => ({ key: at.keys.operator }), "204"],
    ["admin", (at) => ({ key: at.keys.admin }), "204"],
    ["anonymous", (at) => ({ key: at.keys.anonymous }), "204"],
    ["calendar", (at) => ({ key: at.keys.calendar }), "403 AUTH_INSUFFICIENT"],
    ["nonsense", () => ({ key: "nonsense" }), "401 AUTH_INVALID"],
    ["a revoked key", (at) => ({ key: revoked(at) && at.keys.viewer }), "401 AUTH_REVOKED"],
    ["no code of ours", () => ({ code: "x" }), "401 AUTH_INVALID"],
    ["nothing", () => ({}), "400 MISSING_FIELD"],
    ["both", (at) => ({ key: at.keys.viewer, code: "x" }), "400 MISSING_FIELD"],
    ["another field", (at) => ({ key: at.keys.viewer, forever: true }), "400 INVALID_FIELD"],
    ["a long body", () => ({ key: "x".repeat(5000) }), "413 BODY_TOO_LARGE"],
  ])("with %s", async (_, body, expected) => {
    const at = site({ maxBodyBytes: 100_000 });
    const answer = await attempt(at, body(at));
    expect(answer.headers.has("set-cookie")).toBe(answer.status === 204);
    expect(await outcome(answer)).toBe(expected);
  });

  test("again in the same browser replaces the sign-in", async () => {
    const at = bench();
    const first = await signIn(at, at.keys.viewer);
    await attempt(at, { key: at.keys.operator }, first);
    expect(await at.status("/api/me", by(first))).toBe(401);
    expect(at.deps.signIns.list()).toMatchObject([{ caller: { role: "operator" } }]);
  });

  test("no secret is in a log, and the audit trail has the caller and address", async () => {
    const at = bench();
    const { cookie } = await signIn(at, at.keys.operator);
    await at.get("/api/licenses?limit=x", by({ cookie }));
    await at.get("/api/signout", by({ cookie, ...PAGE }, { method: "POST" }));
    await at.get("/api/me", by({ cookie }));
    const [, id = "", secret = ""] = /=(\w+)\.(.+)/.exec(cookie) ?? [];
    expect(JSON.stringify(at.logged)).not.toContain(secret);
    const of = { by: "key000000002", signIn: id, address: "local" };
    expect(at.linesOf("audit")).toMatchObject([
      { message: "Signed in", fields: of },
      { message: "Signed out", fields: of },
    ]);
  });
});

describe("a request with a cookie", () => {
  const OWN = "http://lic";
  const PORT = "http://lic:9090";
  const REFUSED = "403 AUTH_INSUFFICIENT";
  const [SUMMARY, STREAM] = ["/api/licenses/summary", "/stream/metrics"];
  const [REFRESH, RESCAN] = ["/api/licenses?refresh=true", "/api/licenses/rescan"];
  const post = { method: "POST" };
  const changedHost = { ...PAGE, origin: "https://there.example", "sec-fetch-site": "same-origin" };
  const otherPort = { ...PAGE, origin: PORT, "sec-fetch-site": "same-site" };
  test.each<[string, string, Ask, Headers, string]>([
    ["reads", SUMMARY, {}, {}, "200"],
    ["reads for its own page", SUMMARY, {}, { origin: OWN }, "200"],
    ["reads nothing for a page of another port", SUMMARY, {}, { origin: PORT }, REFUSED],
    ["opens a stream", STREAM, {}, {}, "200"],
    ["opens no stream for another port", STREAM, {}, { origin: PORT }, REFUSED],
    ["opens no stream for a listed origin", STREAM, {}, { origin: WALL }, REFUSED],
    ["opens no stream for a sandboxed page", STREAM, {}, { origin: "null" }, REFUSED],
    ["polls", REFRESH, {}, { ...PAGE }, "200"],
    ["does not poll without the header", REFRESH, {}, {}, REFUSED],
    ["does not poll with an encoded name", "/api/licenses?%72efresh=true", {}, {}, REFUSED],
    ["changes data", RESCAN, post, { ...PAGE, origin: OWN }, "200"],
    ["changes data behind a proxy that changed the Host", RESCAN, post, changedHost, "200"],
    ["changes nothing for another port, as the browser reports", RESCAN, post, otherPort, REFUSED],
    ["changes data without an origin", RESCAN, post, PAGE, "200"],
    ["changes data for a listed origin", RESCAN, post, { ...PAGE, origin: WALL }, "200"],
    ["changes nothing without the header", RESCAN, post, { origin: OWN }, REFUSED],
    ["changes nothing with another header", RESCAN, post, { "x-licmond": "form", origin: OWN }, REFUSED],
    ["changes nothing for another port", RESCAN, post, { ...PAGE, origin: PORT }, REFUSED],
    ["changes nothing for a sandboxed page", RESCAN, post, { ...PAGE, origin: "null" }, REFUSED],
    ["deletes nothing without the header", "/api/signins/x", { method: "DELETE" }, {}, REFUSED],
  ])("%s", async (_, path, ask, headers, expected) => {
    const at = site({ corsOrigins: [WALL] });
    const { cookie } = await signIn(at, at.keys.operator);
    const answer = await at.get(path, by({ cookie, host: "lic", ...headers }, ask));
    expect(await outcome(answer)).toBe(expected);
    if (answer.status === 200 && path.startsWith("/stream")) await answer.body?.cancel();
    expect(at.rescans.length).toBe(expected === "200" && /rescan|refresh/.test(path) ? 1 : 0);
  });

  test.each<[string, Headers, string]>([
    ["no page", {}, "101"],
    ["its own page", { Origin: "http://lic" }, "101"],
    ["another port", { Origin: "http://lic:9090" }, "403"],
    ["a listed origin", { Origin: WALL }, "403"],
  ])("opens a socket, or not: %s", async (_, headers, status) => {
    const at = site({ corsOrigins: [WALL] });
    const { cookie } = await signIn(at, at.keys.viewer);
    const answer = await handshake(serve(at).port, { Host: "lic", Cookie: cookie, ...headers });
    expect(answer.slice(9, 12)).toBe(status);
  });

  test.each<[string, Headers]>([
    ["another port", { ...PAGE, origin: PORT }],
    ["a form", { "x-licmond": "" }],
  ])("nobody is signed in by %s", async (_, headers) => {
    const at = site();
    const answer = await attempt(at, { key: at.keys.viewer }, { host: "lic", ...headers });
    expect(await outcome(answer)).toBe(REFUSED);
  });

  test("uses the key if one is sent too", async () => {
    const at = bench();
    const cookie = await signIn(at, at.keys.viewer);
    const me = async (ask: Ask) => at.json("/api/me", ask);
    expect(await me(by(cookie, { key: at.keys.admin }))).toMatchObject({ role: "admin", signIn: null });
    expect(await at.status("/api/me", by(cookie, { key: "nonsense" }))).toBe(401);
    const stream = await at.get(`/stream/logs?api_key=${at.keys.anonymous}`, by(cookie));
    expect(stream.status).toBe(403);
  });

  test.each(["", "x", ".", "a.b.c", "%00", "licmond_0123abcd", "=".repeat(9000), "\u00e9", '"'])(
    "ignores the hostile cookie %p",
    async (value) => {
      const at = bench();
      await signIn(at, at.keys.viewer);
      const headers = { cookie: `licmond_0123abcd=${value}; licmond_0123abcd; =; ;${value}` };
      expect(await at.status("/api/me", by(headers))).toBe(401);
    },
  );
});

describe("managing keys with a cookie asks for the key again", () => {
  const KEY = { name: "wall display", role: "viewer" };
  const sent = (who: Headers, method: string, body: object): Ask =>
    by({ ...who, ...PAGE, "content-type": "application/json" }, { method, body: JSON.stringify(body) });

  test.each<[string, (at: Bench) => object, string, string]>([
    ["nothing", () => ({}), "400 MISSING_FIELD", "400 MISSING_FIELD"],
    ["nonsense", () => ({ confirm: "nonsense" }), "401 AUTH_INVALID", "401 AUTH_INVALID"],
    ["a viewer's key", (at) => ({ confirm: at.keys.viewer }), "401 AUTH_INVALID", "401 AUTH_INVALID"],
    ["the key that signed in", (at) => ({ confirm: at.keys.admin }), "201", "204"],
  ])("%s: %#", async (_, confirm, created, revoked) => {
    const at = bench();
    const admin = await signIn(at, at.keys.admin);
    const create = await at.get("/api/keys", sent(admin, "POST", { ...KEY, ...confirm(at) }));
    expect(await outcome(create)).toBe(created);
    const revoke = await at.get("/api/keys/key000000001", sent(admin, "DELETE", confirm(at)));
    expect(await outcome(revoke)).toBe(revoked);
    expect(at.deps.keys.get("key000000001")?.state).toBe(revoked === "204" ? "revoked" : "active");
    expect(at.deps.keys.list().some(({ name }) => name === KEY.name)).toBe(created === "201");
  });

  test("not the key of another admin", async () => {
    const at = bench();
    const other = at.deps.keys.create(plainKey({ name: "other", role: "admin" }));
    const confirm = other.outcome === "created" ? other.presented : "";
    const admin = await signIn(at, at.keys.admin);
    const answer = await at.get("/api/keys", sent(admin, "POST", { ...KEY, confirm }));
    expect(await outcome(answer)).toBe("401 AUTH_INVALID");
  });

  test("a wrong key counts against the address and is logged without the key", async () => {
    const at = site({ limits: { ...PLENTY, burst: 2, anonymousPerMinute: 1 } });
    const admin = await signIn(at, at.keys.admin);
    at.now += HOUR;
    const wrong = () => at.get("/api/keys", sent(admin, "POST", { ...KEY, confirm: "nonsense" }));
    await wrong();
    expect(at.linesOf("auth")).toMatchObject([
      { message: "Sign-in refused", fields: { outcome: "invalid" } },
    ]);
    await wrong();
    at.now += 1000;
    expect(await outcome(await wrong())).toBe("429 RATE_LIMIT_EXCEEDED");
    expect(JSON.stringify(at.logged)).not.toContain("nonsense");
  });

  test("a request with a key needs no confirmation", async () => {
    const at = bench();
    expect((await at.post("/api/keys", KEY, at.keys.admin)).status).toBe(201);
    const revoke = await at.get("/api/keys/key000000001", { key: at.keys.admin, method: "DELETE" });
    expect(revoke.status).toBe(204);
  });
});

describe("every role", () => {
  const ALL = "viewer operator admin anonymous";
  const NEW: [method: string, path: string, body: object | null, roles: string, status: number][] = [
    ["GET", "/api/me", null, ALL, 200],
    ["GET", "/api/signins", null, ALL, 200],
    ["DELETE", "/api/signins/nobody", null, ALL, 404],
    ["POST", "/api/signin/code", {}, ALL, 201],
    ["POST", "/api/signin/code", { role: "operator" }, "operator admin", 201],
    ["POST", "/api/signin/code", { role: "admin", forSeconds: 60 }, "admin", 201],
    ["POST", "/api/signout", null, ALL, 409],
  ];
  test.each(NEW)("%s %s %j: %s", async (method, path, body, roles, status) => {
    const at = bench();
    const sent = body === null ? {} : { body: JSON.stringify(body) };
    const headers = { ...PAGE, "content-type": "application/json" };
    for (const who of Object.keys(at.keys) as Who[]) {
      const answer = await at.get(path, { key: at.keys[who], method, headers, ...sent });
      expect([who, answer.status]).toEqual([who, roles.split(" ").includes(who) ? status : 403]);
      if (who === "calendar") continue;
      // A cookie gives the same access as its key, with two exceptions: a browser cannot make links, but
      // can sign out.
      const asBrowser = await at.get(path, by(await signIn(at, at.keys[who]), { method, headers, ...sent }));
      const own = path === "/api/signout" ? 204 : path.endsWith("code") ? 403 : status;
      expect([who, asBrowser.status]).toEqual([who, own]);
    }
    const nobody = path === "/api/me" ? 204 : 401;
    expect(await at.status(path, { key: null, method, headers, ...sent })).toBe(nobody);
  });

  test("sees and ends the sign-ins of its key, an admin all", async () => {
    const at = bench();
    const viewer = await signIn(at, at.keys.viewer);
    const operator = await signIn(at, at.keys.operator);
    const admin = await signIn(at, at.keys.admin);
    type SignIns = { signins: { id: string; current: boolean; keyName: string }[] };
    const seen = async (who: Headers) => (await at.json<SignIns>("/api/signins", by(who))).signins;
    expect((await seen(viewer)).map(({ keyName }) => keyName)).toEqual(["viewer 1"]);
    expect((await seen(admin)).map(({ current }) => current).toSorted()).toEqual([false, false, true]);
    const [target] = await seen(operator);
    const end = (who: Headers) =>
      at.get(`/api/signins/${target?.id}`, by({ ...who, ...PAGE }, { method: "DELETE" }));
    expect([(await end(viewer)).status, (await end(admin)).status]).toEqual([404, 204]);
    expect(await at.status("/api/me", by(operator))).toBe(401);
  });
});

describe("a sign-in", () => {
  test.each<[string, boolean, (at: Bench) => void, string]>([
    ["goes on while it is used", false, (at) => (at.now += 11 * HOUR), "200"],
    ["ends when it is idle", false, (at) => (at.now += 12 * HOUR), "401 AUTH_EXPIRED"],
    ["stays when it is to", true, (at) => (at.now += 29 * 24 * HOUR), "200"],
    ["ends even then", true, (at) => (at.now += 30 * 24 * HOUR), "401 AUTH_EXPIRED"],
    ["ends with its key", true, (at) => void at.deps.keys.revoke("key000000001"), "401 AUTH_REVOKED"],
  ])("%s", async (_, stay, happens, expected) => {
    const at = bench();
    const cookie = await signIn(at, at.keys.viewer, stay);
    at.now += HOUR / 2;
    expect(await at.status("/api/me", by(cookie))).toBe(200);
    if (stay) at.now -= HOUR / 2;
    happens(at);
    expect(await outcome(await at.get("/api/licenses", by(cookie)))).toBe(expected);
  });

  test("ends when its key expires, and shows when", async () => {
    const at = bench();
    const made = at.deps.keys.create(plainKey({ name: "short", expiresAt: at.now + HOUR }));
    if (made.outcome !== "created") throw new Error("not made");
    const cookie = await signIn(at, made.presented, true);
    expect(await at.json("/api/me", by(cookie))).toMatchObject({
      signIn: { expiresAt: new Date(at.now + HOUR).toISOString() },
    });
    at.now += HOUR;
    expect(await outcome(await at.get("/api/me", by(cookie)))).toBe("401 AUTH_EXPIRED");
  });

  test("has its own bucket and no quota; a wrong key counts against the address", async () => {
    const limits = { ...PLENTY, burst: 3, requestsPerMinute: 60, anonymousPerMinute: 6, dailyQuota: 1 };
    const quotas = createQuotas({ store: open(temporaryDirectory()), clock: { now: () => at.now } });
    const at: Bench = bench({ quotas }, { limits });
    const [first, second] = [await signIn(at, at.keys.viewer), await signIn(at, at.keys.viewer)];
    const asked = async (who: Headers) => await at.status("/api/licenses", by(who));
    for (const status of [200, 200, 200, 429]) expect(await asked(first)).toBe(status);
    expect(await asked(second)).toBe(200);
    expect(quotas.used("key000000001").day).toBe(0);
    for (const status of [401, 401, 401, 429])
      expect((await attempt(at, { key: "nonsense" })).status).toBe(status);
    // Wrong keys of others do not lock out a right key.
    expect((await attempt(at, { key: at.keys.operator })).status).toBe(204);
  });

  test("has at most 8 streams, separate from those of its key", async () => {
    const at = bench();
    const [first, second] = [await signIn(at, at.keys.viewer), await signIn(at, at.keys.viewer)];
    const opened = await Promise.all(Array.from({ length: 8 }, () => at.get("/stream/metrics", by(first))));
    expect(opened.map(({ status }) => status)).toEqual(Array(8).fill(200));
    const ninth = await at.get("/stream/metrics", by(first));
    expect([ninth.status, await ninth.text()]).toEqual([
      503,
      expect.stringContaining("sign-in has 8 streams"),
    ]);
    const others = [await at.get("/stream/metrics", by(second)), await at.get("/stream/metrics")];
    expect(others.map(({ status }) => status)).toEqual([200, 200]);
    for (const each of [...opened, ...others]) await each.body?.cancel();
  });
});

describe("a link", () => {
  test("works once, for 10 minutes, with the rights it was made for", async () => {
    const at = bench();
    const code = await codeFor(at, at.keys.admin, { role: "viewer", forSeconds: 3600 });
    const answers = [await attempt(at, { code, stay: true }), await attempt(at, { code })];
    expect(answers.map(({ status }) => status)).toEqual([204, 401]);
    const [cookie = ""] = answers[0]?.headers.get("set-cookie")?.split(";") ?? [];
    expect(answers[0]?.headers.get("set-cookie")).toContain("Max-Age=3600;");
    const role = { role: "viewer", name: "admin 3", signIn: { role: "viewer", stay: true } };
    expect(await at.json("/api/me", by({ cookie }))).toMatchObject(role);
    expect(await at.status("/api/keys", by({ cookie }))).toBe(403);
    await signIn(at, at.keys.admin);
    expect(await at.json("/api/signins", by({ cookie }))).toMatchObject({ total: 1 });
    at.now += HOUR;
    expect(await at.status("/api/me", by({ cookie }))).toBe(401);

    const late = await codeFor(at, at.keys.viewer);
    at.now += 10 * 60_000;
    expect((await attempt(at, { code: late })).status).toBe(401);
    const ended = await codeFor(at, at.keys.viewer);
    at.deps.keys.revoke("key000000001");
    expect((await attempt(at, { code: ended })).status).toBe(401);
    expect(JSON.stringify(at.logged)).not.toContain(code);
  });

  test.each<[Partial<HttpSettings>, string]>([
    [{}, "http://127.0.0.1:0"],
    [{ publicUrl: "https://licenses.site.example/lm/" }, "https://licenses.site.example/lm"],
    [{ host: "0.0.0.0", port: 8080, tls: { cert: "c", key: "k" } }, "https://mon1:8080"],
    [{ host: "fd00::1", port: 80 }, "http://[fd00::1]"],
  ])("leads to where the page is: %j", async (settings, address) => {
    const at = site(settings);
    const link = (await (await at.post("/api/signin/code", {})).json()) as { url: string; code: string };
    expect(link.url).toBe(`${address}/signin#code=${link.code}`);
  });
});

const WEBKIT = "AppleWebKit/605.1.15 (KHTML, like Gecko)";
const CHROME = `${WEBKIT} Chrome/141.0.0.0`;
test.each([
  ["Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", "Firefox 140 on Linux"],
  [`Mozilla/5.0 (Windows NT 10.0) ${CHROME} Safari/537.36 Edg/141.0`, "Edge 141 on Windows"],
  [`Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) ${WEBKIT} Version/18.1 Safari/605`, "Safari 18 on macOS"],
  [`Mozilla/5.0 (Linux; Android 15) ${CHROME} Mobile Safari/537.36`, "Chrome 141 on Android"],
  ["Firefox/99999999999 <script>", "Firefox 9999"],
  ["curl/8.5", null],
  [`${"x".repeat(600)} Firefox/140`, null],
])("the browser of %p is %p", (agent, name) => {
  expect(browserOf(new Request("http://lic", { headers: { "user-agent": agent } }))).toBe(name);
});
