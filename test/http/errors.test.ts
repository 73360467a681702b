import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { ERROR_STATUS, type ErrorCode } from "../../src/domain/errors.ts";
import { type Ask, type Bench, bench, memoryKeys, monitored, NOW, picture, REFUSED } from "./make.ts";

interface Case {
  readonly code: ErrorCode;
  readonly what: string;
  readonly path: string;
  readonly ask?: Ask | ((bench: Bench) => Ask);
  readonly given?: (bench: Bench) => void;
  readonly over?: Parameters<typeof bench>[0];
  /** What the message must say. */
  readonly says?: RegExp;
  readonly details?: string | RegExp;
}

const post = (body: string, type = "application/json"): Ask => ({
  method: "POST",
  body,
  headers: { "content-type": type },
});
const asAdmin = (ask: Ask) => (at: Bench) => ({ ...ask, key: at.keys.admin });
const rescan = (body: string, type?: string) => asAdmin(post(body, type));
const chunks = () =>
  new ReadableStream<Uint8Array>({
    start(controller) {
      for (let i = 0; i < 5; i++) controller.enqueue(new Uint8Array(400).fill(32));
      controller.close();
    },
  });

const twoServers = (at: Bench) => at.show(picture("eda"), picture("cad"));
const pollError = (code: "LICENSE_QUERY_FAILED" | "LICENSE_PARSE_ERROR" | "TIMEOUT") => (at: Bench) =>
  at.fail("eda", { code, message: "It failed.", details: "its own words" });

/** A database that is really full, as SQLite itself says it. */
function fullDatabase(): never {
  const database = new Database(":memory:");
  database.run("PRAGMA max_page_count = 2");
  database.run("CREATE TABLE t (x BLOB)");
  for (;;) database.run("INSERT INTO t VALUES (randomblob(4000))");
}

const CASES: readonly Case[] = [
  { code: "AUTH_MISSING", what: "no key", path: "/api/licenses", ask: { key: null }, says: /X-API-Key/ },
  { code: "AUTH_MISSING", what: "an empty key", path: "/api/licenses", ask: { key: "" } },
  {
    code: "AUTH_MISSING",
    what: "a key in a query that takes none",
    path: "/api/licenses?api_key=lmk_key000000001_x",
    ask: { key: null },
  },
  { code: "AUTH_INVALID", what: "an unknown key", path: "/api/licenses", ask: { key: "lmk_aaaaaaaaaaaa_b" } },
  {
    code: "AUTH_INVALID",
    what: "a wrong bearer",
    path: "/api/licenses",
    ask: { key: null, headers: { authorization: "Bearer x" } },
  },
  {
    code: "AUTH_REVOKED",
    what: "a revoked key",
    path: "/api/licenses",
    given: (at) => void at.deps.keys.revoke("key000000001"),
  },
  {
    code: "AUTH_INSUFFICIENT",
    what: "raw as operator",
    path: "/api/licenses/servers/eda/raw",
    ask: (at) => ({ key: at.keys.operator }),
    says: /admin/,
  },
  {
    code: "AUTH_INSUFFICIENT",
    what: "keys as operator",
    path: "/api/keys",
    ask: (at) => ({ key: at.keys.operator }),
  },
  {
    code: "AUTH_INSUFFICIENT",
    what: "rescan as viewer",
    path: "/api/licenses/rescan",
    ask: { method: "POST" },
    says: /operator or admin/,
  },
  {
    code: "AUTH_INSUFFICIENT",
    what: "refresh as viewer",
    path: "/api/licenses?refresh=true",
    says: /refresh=true/,
  },
  {
    code: "AUTH_INSUFFICIENT",
    what: "anything as calendar",
    path: "/api/licenses",
    ask: (at) => ({ key: at.keys.calendar }),
  },
  { code: "INVALID_JSON", what: "a broken body", path: "/api/licenses/rescan", ask: rescan('{"servers":') },
  {
    code: "INVALID_JSON",
    what: "a form",
    path: "/api/licenses/rescan",
    ask: rescan("servers=eda", "application/x-www-form-urlencoded"),
  },
  {
    code: "INVALID_JSON",
    what: "invalid UTF-8",
    path: "/api/licenses/rescan",
    ask: (at) => ({
      key: at.keys.admin,
      method: "POST",
      headers: { "content-type": "application/json" },
      body: new Response(new Uint8Array([0x22, 0xff, 0x22])).body ?? "",
    }),
  },
  {
    code: "INVALID_JSON",
    what: "a bottomless nest",
    path: "/api/licenses/rescan",
    ask: rescan("[".repeat(900)),
  },
  {
    code: "MISSING_FIELD",
    what: "a key without a name",
    path: "/api/keys",
    ask: rescan('{"role":"viewer"}'),
    says: /"name" is missing/,
  },
  { code: "MISSING_FIELD", what: "an absent body", path: "/api/keys", ask: asAdmin({ method: "POST" }) },
  {
    code: "INVALID_FIELD",
    what: "an unknown field",
    path: "/api/keys",
    ask: rescan('{"name":"a","role":"viewer","expireAt":"2027-01-01T00:00:00Z"}'),
    says: /"expireAt".*expiresAt/,
  },
  {
    code: "INVALID_FIELD",
    what: "__proto__",
    path: "/api/keys",
    ask: rescan('{"name":"a","role":"viewer","__proto__":{"anonymize":true}}'),
    says: /__proto__/,
  },
  {
    code: "INVALID_FIELD",
    what: "an unknown role",
    path: "/api/keys",
    ask: rescan('{"name":"a","role":"root"}'),
    says: /calendar, viewer, operator, admin/,
  },
  {
    code: "INVALID_FIELD",
    what: "an expiry that passed",
    path: "/api/keys",
    ask: rescan('{"name":"a","role":"viewer","expiresAt":"2020-01-01T00:00:00Z"}'),
    says: /future/,
  },
  {
    code: "INVALID_FIELD",
    what: "an expiry on a day that the calendar lacks",
    path: "/api/keys",
    ask: rescan('{"name":"a","role":"viewer","expiresAt":"2027-02-30T00:00:00Z"}'),
    says: /"expiresAt" must be a time .* on a day that exists/,
  },
  {
    code: "INVALID_FIELD",
    what: "an expiry at 24:00",
    path: "/api/keys",
    ask: rescan('{"name":"a","role":"viewer","expiresAt":"2099-02-28T24:00:00Z"}'),
    says: /"expiresAt"/,
  },
  {
    code: "INVALID_FIELD",
    what: "a name with half a surrogate pair",
    path: "/api/keys",
    ask: rescan('{"name":"a\\ud800b","role":"viewer"}'),
    says: /"name" must be a text in valid Unicode/,
  },
  {
    code: "INVALID_FIELD",
    what: "an anonymized admin",
    path: "/api/keys",
    ask: rescan('{"name":"a","role":"admin","anonymize":true}'),
    says: /viewer/,
  },
  { code: "INVALID_FIELD", what: "no servers", path: "/api/licenses/rescan", ask: rescan('{"servers":[]}') },
  {
    code: "INVALID_FIELD",
    what: "a list as body",
    path: "/api/licenses/rescan",
    ask: rescan("[]"),
    says: /The body must be an object/,
  },
  {
    code: "INVALID_FIELD",
    what: "a number as id",
    path: "/api/licenses/rescan",
    ask: rescan('{"servers":["eda",7]}'),
    says: /servers\[1\]/,
  },
  {
    code: "INVALID_QUERY",
    what: "a limit of 0",
    path: "/api/licenses/features?limit=0",
    says: /"limit" got "0"; it takes an integer from 1 to 10000/,
  },
  {
    code: "BODY_TOO_LARGE",
    what: "a long body by length",
    path: "/api/licenses/rescan",
    ask: rescan(" ".repeat(2000)),
    says: /1024/,
  },
  {
    code: "BODY_TOO_LARGE",
    what: "a long body by chunks",
    path: "/api/licenses/rescan",
    ask: (at) => ({ key: at.keys.admin, method: "POST", body: chunks() }),
  },
  { code: "NOT_FOUND", what: "an unknown path", path: "/api/nowhere", ask: { key: null } },
  { code: "NOT_FOUND", what: "half an encoded character", path: "/api/licenses/servers/%c3" },
  { code: "NOT_FOUND", what: "a percent sign alone", path: "/api/keys/%", ask: asAdmin({}) },
  {
    code: "NOT_FOUND",
    what: "an unknown server in the path",
    path: "/api/licenses/servers/nobody",
    says: /"nobody"/,
  },
  {
    code: "NOT_FOUND",
    what: "an unknown server in the query",
    path: "/api/licenses/features?server=eda,nobody",
    says: /"nobody"/,
  },
  {
    code: "NOT_FOUND",
    what: "an unknown server in a body",
    path: "/api/licenses/rescan",
    ask: rescan('{"servers":["nobody"]}'),
  },
  { code: "NOT_FOUND", what: "an unknown key", path: "/api/keys/aaaaaaaaaaaa", ask: asAdmin({}) },
  {
    code: "METHOD_NOT_ALLOWED",
    what: "DELETE on ping",
    path: "/api/ping",
    ask: { key: null, method: "DELETE" },
  },
  {
    code: "ALREADY_EXISTS",
    what: "a taken name",
    path: "/api/keys",
    ask: rescan('{"name":"viewer 1","role":"viewer"}'),
  },
  {
    code: "CONFLICT",
    what: "rescan of a disabled server",
    path: "/api/licenses/rescan",
    ask: rescan('{"servers":["off"]}'),
    given: (at) => at.show(picture("off", { server: monitored("off", { enabled: false }) })),
  },
  {
    code: "GONE",
    what: "a deleted key",
    path: "/api/keys/key000000001",
    ask: asAdmin({}),
    given: (at) => void at.deps.keys.revoke("key000000001"),
  },
  {
    code: "GONE",
    what: "deleting it twice",
    path: "/api/keys/key000000001",
    ask: asAdmin({ method: "DELETE" }),
    given: (at) => void at.deps.keys.revoke("key000000001"),
  },
  {
    code: "INTERNAL_ERROR",
    what: "an exception",
    path: "/api/licenses/summary",
    over: {
      live: {
        snapshot: () => {
          throw new Error("SELECT lmk_secret FROM /var/lib");
        },
      },
    },
  },
  {
    code: "DATABASE_ERROR",
    what: "a full database",
    path: "/api/keys",
    ask: asAdmin({}),
    over: { keys: { ...memoryKeys(() => NOW), list: fullDatabase } },
  },
  {
    code: "UPSTREAM_ERROR",
    what: "every poll of several failed",
    path: "/api/licenses/rescan",
    ask: asAdmin({ method: "POST" }),
    given: (at) => {
      twoServers(at);
      at.fail("eda", REFUSED);
      at.fail("cad", REFUSED);
    },
    details: "eda: LICENSE_SERVER_UNREACHABLE; cad: LICENSE_SERVER_UNREACHABLE",
  },
  {
    code: "UPSTREAM_ERROR",
    what: "every poll of a refresh failed",
    path: "/api/licenses?refresh=true",
    ask: asAdmin({}),
    given: (at) => at.fail("eda", REFUSED),
  },
  {
    code: "LICENSE_SERVER_UNREACHABLE",
    what: "rescan of one that is down",
    path: "/api/licenses/rescan",
    ask: rescan('{"servers":["eda"]}'),
    given: (at) => at.fail("eda", REFUSED),
    details: /-15,570/,
  },
  {
    code: "LICENSE_SERVER_UNREACHABLE",
    what: "refresh of one that is down",
    path: "/api/licenses?refresh=true&server=eda",
    ask: asAdmin({}),
    given: (at) => at.fail("eda", REFUSED),
  },
  {
    code: "LICENSE_QUERY_FAILED",
    what: "rescan: the tool failed",
    path: "/api/licenses/rescan",
    ask: rescan('{"servers":["eda"]}'),
    given: pollError("LICENSE_QUERY_FAILED"),
    details: "its own words",
  },
  {
    code: "LICENSE_PARSE_ERROR",
    what: "rescan: not understood",
    path: "/api/licenses/rescan",
    ask: rescan('{"servers":["eda"]}'),
    given: pollError("LICENSE_PARSE_ERROR"),
  },
  {
    code: "TIMEOUT",
    what: "rescan: hangs",
    path: "/api/licenses/rescan",
    ask: rescan('{"servers":["eda"]}'),
    given: pollError("TIMEOUT"),
  },
  {
    code: "SERVICE_UNAVAILABLE",
    what: "unhealthy",
    path: "/api/health",
    over: {
      health: () => ({
        database: { status: "unhealthy", message: "does not answer" },
        collector: { status: "healthy", message: "polls" },
        disk: { status: "healthy", message: "room" },
        clock: { status: "healthy", message: "right" },
      }),
    },
    details: "database: does not answer",
  },
];

const REASON: Readonly<Record<number, string>> = {
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  409: "Conflict",
  410: "Gone",
  413: "Content Too Large",
  500: "Internal Server Error",
  502: "Bad Gateway",
  503: "Service Unavailable",
  504: "Gateway Timeout",
};

describe("each error by its real condition", () => {
  test.each(CASES.map((one) => [`${one.code}: ${one.what}`, one] as const))("%s", async (_, one) => {
    const at = bench(one.over);
    // With other keys than the bench's own, its keys are not known: these are.
    const keys =
      one.over?.keys === undefined
        ? at.keys
        : { ...at.keys, admin: "lmk_key000000000_".concat("key000000000".padEnd(43, "x")) };
    if (one.over?.keys !== undefined) (one.over.keys as ReturnType<typeof memoryKeys>).add("admin");
    one.given?.(at);
    const ask = typeof one.ask === "function" ? one.ask({ ...at, keys }) : (one.ask ?? {});
    const response = await at.get(one.path, {
      ...ask,
      headers: { ...ask.headers, "x-request-id": "trace-1" },
    });
    const body: unknown = await response.json();
    expect(body).toEqual({
      error: REASON[ERROR_STATUS[one.code]],
      code: one.code,
      message: expect.any(String),
      ...(typeof body === "object" && body !== null && "details" in body && { details: expect.any(String) }),
      requestId: "trace-1",
      timestamp: new Date(NOW).toISOString(),
    });
    expect(response.status).toBe(ERROR_STATUS[one.code]);
    expect(response.headers.get("x-request-id")).toBe("trace-1");
    expect(response.headers.get("content-type")).toStartWith("application/json");
    if (one.says) expect(body).toMatchObject({ message: expect.stringMatching(one.says) });
    if (one.details) expect(body).toMatchObject({ details: expect.stringMatching(one.details) });
    expect(JSON.stringify(body)).not.toMatch(/SELECT|at .*\.ts|randomblob|lmk_key|xxxxxxxx|node_modules/);
  });

  test("an exception is logged with its request id, its words kept inside", async () => {
    const at = bench({
      live: {
        snapshot: () => {
          throw new Error("the inner reason");
        },
      },
    });
    await at.get("/api/licenses/summary", { headers: { "x-request-id": "trace-2" } });
    expect(at.logged.find(({ level }) => level === "error")).toMatchObject({
      source: "http",
      fields: {
        requestId: "trace-2",
        code: "INTERNAL_ERROR",
        cause: expect.stringContaining("the inner reason"),
      },
    });
  });

  test("a wrong key is logged, the key itself is not", async () => {
    const at = bench();
    await at.get("/api/licenses", { key: "lmk_aaaaaaaaaaaa_topsecret" });
    await at.get("/api/licenses?api_key=lmk_aaaaaaaaaaaa_topsecret");
    expect(at.logged.filter(({ source }) => source === "auth")).toHaveLength(1);
    expect(JSON.stringify(at.logged)).not.toContain("topsecret");
  });
});
