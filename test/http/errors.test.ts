import { Database } from "bun:sqlite";
import { afterEach, describe, expect, test } from "bun:test";
import { STATUS_CODES } from "node:http";
import type { PollErrorCode } from "../../src/domain/errors.ts";
import { ERROR_STATUS, type ErrorCode } from "../../src/domain/errors.ts";
import { closeDoors, serve } from "./doors.ts";
import { type Ask, type Bench, bench, monitored, NOW, picture, REFUSED } from "./make.ts";

type Case = [
  code: ErrorCode,
  what: string,
  path: string,
  /** The request, or a function that first creates the condition and returns the request. */
  ask?: Ask | ((at: Bench) => Ask),
  /** Pattern of the message. */
  says?: RegExp,
  details?: string,
];

afterEach(closeDoors);

const NO_KEY: Ask = { key: null };
const as =
  (role: keyof Bench["keys"], ask: Ask = {}) =>
  (at: Bench) => ({ ...ask, key: at.keys[role] });
const post = (body: Ask["body"], type = "application/json") =>
  as("admin", { method: "POST", headers: { "content-type": type }, ...(body !== undefined && { body }) });
const after =
  (given: (at: Bench) => unknown, ask: Ask | ((at: Bench) => Ask) = {}) =>
  (at: Bench) => {
    given(at);
    return typeof ask === "function" ? ask(at) : ask;
  };
const streamOf = (...chunks: Uint8Array<ArrayBuffer>[]) => new Blob(chunks).stream();
const revoked = (at: Bench) => at.deps.keys.revoke("key000000001");
const failing = (code: PollErrorCode) => (at: Bench) =>
  at.fail("eda", { code, message: "It failed.", details: "its own words" });
const disabled = (at: Bench) => at.show(picture("off", { server: monitored("off", { enabled: false }) }));
const refusing = (at: Bench) => at.fail("eda", REFUSED);
const bothRefusing = (at: Bench) => {
  at.show(picture("eda"), picture("cad"));
  refusing(at);
  at.fail("cad", REFUSED);
};

/** Produces SQLite's own error of a full database. */
function fullDatabase(): never {
  const database = new Database(":memory:");
  database.run("PRAGMA max_page_count = 2");
  database.run("CREATE TABLE t (x BLOB)");
  for (;;) database.run("INSERT INTO t VALUES (randomblob(4000))");
}

const filled = (at: Bench) => Object.assign(at.deps.keys, { list: fullDatabase });
const ADMIN_POST = as("admin", { method: "POST" });
const BOTH = "eda: LICENSE_SERVER_UNREACHABLE; cad: LICENSE_SERVER_UNREACHABLE";
const REFRESH = "/api/licenses?refresh=true";
const REFRESH_EDA = `${REFRESH}&server=eda`;
const LICENSES = "/api/licenses";
const RESCAN = "/api/licenses/rescan";
const KEYS = "/api/keys";
const KEY = "/api/keys/key000000001";
/** Creates a viewer's key with these fields. */
const viewer = (fields: string) => post(`{"name":"a","role":"viewer",${fields}}`);
const NO_DAY = /"expiresAt" must be a time .* on a day that exists/;
const EDA = post('{"servers":["eda"]}');

const CASES: Case[] = [
  ["AUTH_MISSING", "no key", LICENSES, NO_KEY, /X-API-Key/],
  ["AUTH_MISSING", "an empty key", LICENSES, { key: "" }],
  ["AUTH_MISSING", "a key in a query that takes none", `${LICENSES}?api_key=lmk_key000000001_x`, NO_KEY],
  ["AUTH_INVALID", "an unknown key", LICENSES, { key: "lmk_aaaaaaaaaaaa_b" }],
  ["AUTH_INVALID", "a wrong bearer", LICENSES, { key: null, headers: { authorization: "Bearer x" } }],
  ["AUTH_REVOKED", "a revoked key", LICENSES, after(revoked)],
  ["AUTH_INSUFFICIENT", "raw as operator", "/api/licenses/servers/eda/raw", as("operator"), /admin/],
  ["AUTH_INSUFFICIENT", "keys as operator", KEYS, as("operator")],
  ["AUTH_INSUFFICIENT", "rescan as viewer", RESCAN, { method: "POST" }, /operator or admin/],
  ["AUTH_INSUFFICIENT", "refresh as viewer", "/api/licenses?refresh=true", {}, /refresh=true/],
  ["AUTH_INSUFFICIENT", "anything as calendar", LICENSES, as("calendar")],
  ["INVALID_JSON", "a broken body", RESCAN, post('{"servers":')],
  ["INVALID_JSON", "a form", RESCAN, post("servers=eda", "application/x-www-form-urlencoded")],
  ["INVALID_JSON", "invalid UTF-8", RESCAN, post(streamOf(new Uint8Array([0x22, 0xff, 0x22])))],
  ["INVALID_JSON", "a bottomless nest", RESCAN, post("[".repeat(900))],
  ["MISSING_FIELD", "a key without a name", KEYS, post('{"role":"viewer"}'), /"name" is missing/],
  ["MISSING_FIELD", "an absent body", KEYS, ADMIN_POST],
  ["INVALID_FIELD", "__proto__", KEYS, viewer('"__proto__":{"anonymize":true}'), /__proto__/],
  ["INVALID_FIELD", "an expiry that passed", KEYS, viewer('"expiresAt":"2020-01-01T00:00:00Z"'), /future/],
  ["INVALID_FIELD", "an expiry on no day", KEYS, viewer('"expiresAt":"2027-02-30T00:00:00Z"'), NO_DAY],
  ["INVALID_FIELD", "an expiry at 24:00", KEYS, viewer('"expiresAt":"2099-02-28T24:00:00Z"'), /"expiresAt"/],
  ["INVALID_FIELD", "half a surrogate pair", KEYS, viewer('"name":"a\\ud800b"'), /"name" .* in valid/],
  ["INVALID_FIELD", "an anonymized admin", KEYS, viewer('"role":"admin","anonymize":true'), /viewer/],
  ["BODY_TOO_LARGE", "a long body by length", RESCAN, post(" ".repeat(2000)), /1024/],
  ["BODY_TOO_LARGE", "a long body by chunks", RESCAN, post(streamOf(new Uint8Array(2000).fill(32)))],
  ["NOT_FOUND", "an unknown path", "/api/nowhere", NO_KEY],
  ["NOT_FOUND", "half an encoded character", "/api/licenses/servers/%c3"],
  ["NOT_FOUND", "a percent sign alone", "/api/keys/%", as("admin")],
  ["NOT_FOUND", "an unknown server in the path", "/api/licenses/servers/nobody", {}, /"nobody"/],
  ["NOT_FOUND", "an unknown server in the query", "/api/licenses/features?server=eda,nobody", {}, /"nobody"/],
  ["NOT_FOUND", "an unknown server in a body", RESCAN, post('{"servers":["nobody"]}')],
  ["NOT_FOUND", "an unknown key", "/api/keys/aaaaaaaaaaaa", as("admin")],
  ["METHOD_NOT_ALLOWED", "DELETE on ping", "/api/ping", { key: null, method: "DELETE" }],
  ["ALREADY_EXISTS", "a taken name", KEYS, post('{"name":"viewer 1","role":"viewer"}')],
  ["CONFLICT", "rescan of a disabled server", RESCAN, after(disabled, post('{"servers":["off"]}'))],
  ["GONE", "a deleted key", KEY, after(revoked, as("admin"))],
  ["GONE", "deleting it twice", KEY, after(revoked, as("admin", { method: "DELETE" }))],
  ["DATABASE_ERROR", "a full database", KEYS, after(filled, as("admin"))],
  ["UPSTREAM_ERROR", "every poll of several failed", RESCAN, after(bothRefusing, ADMIN_POST), /./, BOTH],
  ["UPSTREAM_ERROR", "every poll of a refresh failed", REFRESH, after(refusing, as("admin"))],
  ["LICENSE_SERVER_UNREACHABLE", "rescan of one that is down", RESCAN, after(refusing, EDA), /./, "-15,570"],
  ["LICENSE_SERVER_UNREACHABLE", "refresh of one that is down", REFRESH_EDA, after(refusing, as("admin"))],
  [
    "LICENSE_QUERY_FAILED",
    "the tool failed",
    RESCAN,
    after(failing("LICENSE_QUERY_FAILED"), EDA),
    /./,
    "own words",
  ],
  ["LICENSE_PARSE_ERROR", "rescan: not understood", RESCAN, after(failing("LICENSE_PARSE_ERROR"), EDA)],
  ["TIMEOUT", "rescan: hangs", RESCAN, after(failing("TIMEOUT"), EDA)],
];

describe("each error under its real condition", () => {
  test.each(CASES)("%s: %s", async (code, _, path, ask = {}, says = /./, details = "") => {
    const at = bench();
    const asked = typeof ask === "function" ? ask(at) : ask;
    const response = await at.get(path, {
      ...asked,
      headers: { ...asked.headers, "x-request-id": "trace-1" },
    });
    const body = (await response.json()) as { details?: string };
    const status = ERROR_STATUS[code];
    expect<unknown>(body).toEqual({
      error: status === 413 ? "Content Too Large" : STATUS_CODES[status],
      code,
      message: expect.stringMatching(says),
      ...(body.details !== undefined && { details: expect.any(String) }),
      requestId: "trace-1",
      timestamp: new Date(NOW).toISOString(),
    });
    expect(body.details ?? "").toContain(details);
    expect(response.status).toBe(status);
    expect(response.headers.get("x-request-id")).toBe("trace-1");
    expect(response.headers.get("content-type")).toStartWith("application/json");
    expect(JSON.stringify(body)).not.toMatch(/SELECT|at .*\.ts|randomblob|lmk_key|xxxxxxxx|node_modules/);
  });

  test("SERVICE_UNAVAILABLE: unhealthy", async () => {
    const fine = { status: "healthy", message: "fine" } as const;
    const database = { status: "unhealthy", message: "does not answer" } as const;
    const at = bench({ health: () => ({ database, collector: fine, disk: fine, clock: fine }) });
    const body = { code: "SERVICE_UNAVAILABLE", details: "database: does not answer" };
    expect(await at.answer("/api/health")).toMatchObject({ status: 503, body });
  });

  test.each(["throws", "rejects"])("INTERNAL_ERROR: a route that %s, over a real port", async (how) => {
    const failure = new TypeError("an inner word, with lmk_aaaaaaaaaaaa_secret and SELECT * FROM keys");
    const snapshot = () => {
      throw failure;
    };
    const at = bench(how === "throws" ? { live: { snapshot } } : { health: () => Promise.reject(failure) });
    const door = serve(at);
    const ask = (path: string) =>
      fetch(`http://127.0.0.1:${door.port}${path}`, {
        headers: { "x-api-key": at.keys.viewer, "x-request-id": "real-7" },
      });
    const response = await ask(how === "throws" ? "/api/licenses/summary" : "/api/health");
    const text = await response.text();
    expect(response.status).toBe(500);
    expect(JSON.parse(text)).toEqual({
      error: "Internal Server Error",
      code: "INTERNAL_ERROR",
      message: expect.stringContaining("request id"),
      requestId: "real-7",
      timestamp: expect.any(String),
    });
    expect(text).not.toMatch(/inner word|SELECT|lmk_|TypeError|\.ts/);
    const cause = expect.stringContaining("an inner word");
    expect(at.logged).toContainEqual({
      level: "error",
      source: "http",
      message: "Request failed",
      fields: expect.objectContaining({ requestId: "real-7", code: "INTERNAL_ERROR", cause }),
    });
    // The next request succeeds.
    expect((await ask("/api/ping")).status).toBe(200);
  });

  test("a wrong key is logged, the key itself is not", async () => {
    const at = bench();
    await at.get("/api/licenses", { key: "lmk_aaaaaaaaaaaa_topsecret" });
    await at.get("/api/licenses?api_key=lmk_aaaaaaaaaaaa_topsecret");
    expect(at.logged.filter(({ source }) => source === "auth")).toHaveLength(1);
    expect(JSON.stringify(at.logged)).not.toContain("topsecret");
  });
});

describe("a query is refused", () => {
  test.each<[string, RegExp]>([
    ["/api/licenses/stats?start=2026-02-02&end=2026-02-01", /"start" must lie before "end"/],
    ["/api/licenses/usage?start=1999-01-01", /20 years/],
    ["/api/licenses/stats?feature=solver&interval=5m&start=2025-01-01", /points; the maximum is 100000/],
    ["/api/licenses/usage?group_by=user,host,day", /one or two different/],
    ["/api/licenses/usage?group_by=user,user", /one or two different/],
    ["/api/licenses/usage?group_by=colour", /user, host, feature, daemon, server, .*label:<name>/],
    ["/api/licenses/usage?sort=day", /group_by=day/],
  ])("%s", async (path, says) => {
    const body = { code: "INVALID_QUERY", message: expect.stringMatching(says) };
    expect(await bench().answer(path)).toMatchObject({ status: 400, body });
  });
});
