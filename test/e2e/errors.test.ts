import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { ERROR_CODES, ERROR_STATUS, type ErrorCode } from "../../src/domain/errors.ts";
import type { ApiDocument } from "../http/document.ts";
import { CANARY, createAsker, createErrorSite } from "./error-site.ts";
import { fill, holdLock, mayMount, smallDisk } from "./faults.ts";
import { type Daemon, until } from "./harness.ts";
import type { Site } from "./site.ts";

const json = (body: unknown): BunFetchRequestInit => ({
  method: "POST",
  headers: { "Content-Type": "application/json" },
  body: typeof body === "string" ? body : JSON.stringify(body),
});

const LAST_EVENT = { "Last-Event-ID": "yesterday" };
const REFRESH = "refresh=true&server=down";

/** A stream has no Content-Length. */
const inPieces = () =>
  new ReadableStream<Uint8Array>({
    pull(controller) {
      controller.enqueue(new Uint8Array(8192).fill(32));
    },
  });

interface Refusal {
  readonly code: string;
  readonly message: string;
}

/** Returns a wrong value for the type of a parameter, or null if every text is valid. */
function wrongFor(
  path: string,
  name: string,
  { type, enum: words, items }: { type?: unknown; enum?: unknown; items?: unknown },
) {
  if (type === "integer" || type === "number") return "0x1F";
  if (type === "boolean") return "yes";
  if (words !== undefined || (items as { enum?: unknown } | undefined)?.enum !== undefined)
    return "no-such-word";
  if (/^(start|end)(_time)?$/.test(name)) return "2026-02-30";
  if (name === "timezone") return "Mars/Olympus";
  if (name === "q" && path === "/api/logs/search")
    return Array.from({ length: 21 }, (_, n) => `word${n}`).join(" ");
  return null;
}

const MAY_MOUNT = await mayMount("the test with a full disk");

/** Error codes that a running daemon does not produce. errors-real.test.ts tests them. */
const ELSEWHERE: readonly ErrorCode[] = ["INTERNAL_ERROR"];

let site: Site;
let daemon: Daemon;
let admin: string;
beforeAll(async () => {
  site = await createErrorSite(
    "[limits]\nstreams_per_key = 1\nrequests_per_minute = 600000\nanonymous_per_minute = 100000",
  );
  daemon = await site.serve();
  admin = await site.key("admin");
});
afterAll(async () => {
  await daemon[Symbol.asyncDispose]();
  await site[Symbol.asyncDispose]();
});

describe("minifying changes what Elysia infers; the built binary refuses", () => {
  test("every wrong parameter, and says what it got and expects", async () => {
    const document = await daemon.json<ApiDocument>("/swagger/json");
    const refused = async (path: string): Promise<Refusal> => {
      const response = await daemon.get(path, admin);
      const body = (await response.json()) as Refusal;
      expect([path, response.status, body.code]).toEqual([path, 400, "INVALID_QUERY"]);
      return body;
    };
    let tried = 0;
    for (const [template, item] of Object.entries(document.paths)) {
      // Paths of WebSockets refuse a plain GET for another reason.
      if (item.get === undefined || template.startsWith("/ws/")) continue;
      const path = template.replace("{id}", "good");
      if (item.get["x-permission"] === "open") {
        expect((await daemon.get(`${path}?nonsense=1`)).status).toBe(200);
        continue;
      }
      expect((await refused(`${path}?nonsense=1`)).message).toStartWith(
        'Unknown query parameter "nonsense".',
      );
      for (const { name, in: where, schema } of item.get.parameters ?? []) {
        if (where !== "query") continue;
        const wrong = wrongFor(template, name, schema);
        if (wrong !== null) {
          const { message } = await refused(`${path}?${name}=${encodeURIComponent(wrong)}`);
          expect(message).toStartWith(`Query parameter "${name}" got "${wrong.slice(0, 20)}`);
          expect(message).toContain("; it must be ");
          tried++;
        }
        if (schema.type === "array") continue;
        const { message } = await refused(`${path}?${name}=1&${name}=1`);
        expect(message).toStartWith(`Query parameter "${name}" may be given only once, got 2; it must be `);
      }
    }
    expect(tried).toBeGreaterThan(80);
    const limit = await refused("/api/licenses/features?limt=5");
    expect(limit.message).toBe('Unknown query parameter "limt". The closest one is "limit".');
  });

  const KEYS = "/api/keys";
  const VIEWER = { name: "a", role: "viewer" };
  const RESCAN = "/api/licenses/rescan";

  test.each<[path: string, body: unknown, says: RegExp]>([
    [KEYS, { role: "viewer" }, /^Field "name" is missing: it must be a string/],
    [KEYS, { name: 7, role: "viewer" }, /^Field "name" must be a string/],
    [KEYS, { name: "a", role: "root" }, /^Field "role" must be one of calendar/],
    [KEYS, { ...VIEWER, expireAt: null }, /"expireAt" is unknown.* closest one is "expiresAt"\.$/],
    [KEYS, { ...VIEWER, expiresAt: "2027-02-30T00:00:00Z" }, /"expiresAt" must be a time .* or null\.$/],
    [KEYS, { ...VIEWER, dailyQuota: 0 }, /"dailyQuota" must be a whole number of 1 or more or null\.$/],
    [KEYS, { ...VIEWER, anonymize: "true" }, /must be true or false/],
    [RESCAN, { servers: [] }, /^Field "servers" must be a non-empty list/],
    [RESCAN, { servers: ["good", 7] }, /^Field "servers\[1\]" must be a string/],
    [RESCAN, [], /^The body must be an object\.$/],
    [RESCAN, null, /^The body must be an object\.$/],
    ["/api/execute", { command: "status", timeoutMs: 5 }, /from 1000 to 600000/],
    [
      "/api/execute",
      { command: "remove", args: { usr: "x" } },
      /^Field "args.usr" .* The closest one is "user"\.$/,
    ],
    ["/api/licenses/alerts/1/acknowledge", { comment: "x".repeat(1001) }, /of 0 to 1000 characters/],
    ["/api/logs/clear", { before: "yesterday" }, /^Field "before" must be a time: now/],
  ])("a wrong body of %s, and says what it takes: %j", async (path, body, says) => {
    const response = await daemon.post(path, admin, body);
    const { code, message } = (await response.json()) as Refusal;
    const missing = message.includes("is missing");
    expect([response.status, code]).toEqual([400, missing ? "MISSING_FIELD" : "INVALID_FIELD"]);
    expect(message).toMatch(says);
  });
});

describe("every error code of the built binary under its real condition", () => {
  test("DATABASE_ERROR: another process holds the write lock past the timeout", async () => {
    const { ask } = await createAsker(site, daemon);
    const make = () => ask("/api/keys", admin, json({ name: "while locked", role: "viewer" }));
    const release = await holdLock(join(site.folder, "storage/state.db"));
    expect(await make()).toEqual({ status: 500, code: "DATABASE_ERROR" });
    await release();
    expect((await make()).status).toBe(201);
  });

  test("each has a request that causes it, and no answer leaks internals", async () => {
    const viewer = await site.key("viewer");
    const [short, revoked] = [await site.key("viewer", "--expires", "1s"), await site.key("viewer")];
    await site.run(["keys", "revoke", "test-4"]);
    const once = await site.key("viewer", "--daily-quota", "1");
    const slow = await site.key("viewer", "--requests-per-minute", "1");
    const { ask, codes } = await createAsker(site, daemon);
    const rescan = (...servers: string[]) => ask("/api/licenses/rescan", admin, json({ servers }));
    const execute = (body: unknown, key = admin) => ask("/api/execute", key, json(body));
    await ask("/api/licenses/summary", once);
    for (let n = 0; n < 100; n++) await ask("/api/ping", slow);

    const cases: [ErrorCode, string, () => ReturnType<typeof ask>][] = [
      ["AUTH_MISSING", "no key", () => ask("/api/licenses")],
      ["AUTH_MISSING", "a broken body without a key", () => ask("/api/keys", undefined, json(`{"${CANARY}`))],
      ["AUTH_INVALID", "a stranger's key", () => ask("/api/licenses", `lmk_aaaaaaaaaaaa_${CANARY}`)],
      ["AUTH_INVALID", "a key with another's id", () => ask("/api/licenses", `${admin.slice(0, -3)}xyz`)],
      ["AUTH_REVOKED", "a revoked key", () => ask("/api/licenses", revoked)],
      ["AUTH_INSUFFICIENT", "keys as viewer", () => ask("/api/keys", viewer)],
      ["AUTH_INSUFFICIENT", "reload as viewer", () => ask("/api/reload", viewer, { method: "POST" })],
      ["INVALID_JSON", "half a body", () => ask("/api/keys", admin, json(`{"name":"${CANARY}`))],
      ["INVALID_JSON", "a form", () => ask("/api/keys", admin, { method: "POST", body: `name=${CANARY}` })],
      ["MISSING_FIELD", "no name", () => ask("/api/keys", admin, json({ role: "viewer" }))],
      ["INVALID_FIELD", "a role", () => ask("/api/keys", admin, json({ name: CANARY, role: CANARY }))],
      ["INVALID_FIELD", "a time", () => ask("/api/logs/clear", admin, json({ before: `2026-${CANARY}` }))],
      ["INVALID_FIELD", "a plain GET of a socket", () => ask("/ws/logs", admin)],
      ["INVALID_QUERY", "a limit", () => ask("/api/licenses/features?limit=-1", viewer)],
      ["INVALID_QUERY", "an event id", () => ask("/stream/logs", admin, { headers: LAST_EVENT })],
      ["BODY_TOO_LARGE", "by its length", () => ask("/api/keys", admin, json(" ".repeat(70_000)))],
      ["BODY_TOO_LARGE", "in pieces", () => ask("/api/keys", admin, { method: "POST", body: inPieces() })],
      ["NOT_FOUND", "a path", () => ask("/api/nowhere")],
      ["NOT_FOUND", "a server", () => ask("/api/licenses/servers/nobody", viewer)],
      ["NOT_FOUND", "a key", () => ask("/api/keys/aaaaaaaaaaaa", admin)],
      ["METHOD_NOT_ALLOWED", "PUT", () => ask("/api/keys", undefined, { method: "PUT" })],
      ["ALREADY_EXISTS", "a name", () => ask("/api/keys", admin, json({ name: "test-1", role: "viewer" }))],
      ["CONFLICT", "a disabled server", () => rescan("off")],
      ["GONE", "a revoked key", () => ask(`/api/keys/${revoked.split("_")[1]}`, admin)],
      ["RATE_LIMIT_EXCEEDED", "a key's bucket", () => drain(() => ask("/api/licenses/summary", slow))],
      // The first request succeeds, and so does the second one if a new day begins in between.
      ["QUOTA_EXCEEDED", "one request a day", () => drain(() => ask("/api/licenses/summary", once))],
      ["UPSTREAM_ERROR", "two that fail", () => rescan("down", "odd")],
      ["LICENSE_SERVER_UNREACHABLE", "refused", () => rescan("down")],
      ["LICENSE_SERVER_UNREACHABLE", "by refresh", () => ask(`/api/licenses?${REFRESH}`, admin)],
      ["LICENSE_PARSE_ERROR", "not lmstat", () => rescan("odd")],
      ["LICENSE_QUERY_FAILED", "no tool", () => rescan("no-tool")],
      ["TIMEOUT", "a tool that hangs", () => rescan("hang")],
      ["COMMAND_EXECUTION_FAILED", "exit 3", () => execute({ command: "fails" })],
      ["COMMAND_TIMEOUT", "a command that hangs", () => execute({ command: "hangs" })],
      ["AUTH_EXPIRED", "a key of one second", () => ask("/api/licenses", short)],
    ];
    for (const [code, what, provoke] of cases) {
      const got = await provoke();
      expect({ what, ...got }).toEqual({ what, code, status: ERROR_STATUS[code] });
    }

    // The site allows one stream per key, so a second one is refused.
    const held = await daemon.get("/stream/logs", admin);
    expect(await ask("/stream/logs", admin)).toEqual({ status: 503, code: "SERVICE_UNAVAILABLE" });
    await held.body?.cancel();

    // Write an invalid file. The details list its problems without secrets.
    await site.configure(`[log]\nlevel = "${CANARY.slice(0, 3)}"\n[nonsense]\npassword = "${CANARY}"`);
    expect(await ask("/api/reload", admin, { method: "POST" })).toEqual({ status: 409, code: "CONFLICT" });

    // Delete the database file. The daemon is then unhealthy, which is visible without a key.
    await rm(join(site.folder, "storage/licmond.db"));
    await until("it is unhealthy", async () => (await ask("/api/health")).status === 503 || undefined);

    const missing = ERROR_CODES.filter(
      (code) => !codes.has(code) && !ELSEWHERE.includes(code) && code !== "DATABASE_ERROR",
    );
    expect(missing).toEqual([]);
    expect(daemon.output()).not.toContain(CANARY);
  });

  test.skipIf(!MAY_MOUNT)("DATABASE_ERROR: the disk is full", async () => {
    await using site = await createErrorSite();
    const storage = join(site.folder, "storage");
    await using _disk = await smallDisk(storage, 4);
    await using daemon = await site.serve();
    const admin = await site.key("admin");
    const { ask } = await createAsker(site, daemon);
    const free = fill(storage);
    let n = 0;
    const make = () => ask("/api/keys", admin, json({ name: `key ${n++}`, role: "viewer" }));
    const got = await until("a write fails", async () => {
      const made = await make();
      return made.status === 201 ? undefined : made;
    });
    expect(got).toEqual({ status: 500, code: "DATABASE_ERROR" });
    // Reads work, and so do writes when there is space again.
    expect((await ask("/api/licenses/features", admin)).status).toBe(200);
    free();
    await until("there is room", async () => (await make()).status === 201 || undefined);
    expect(await daemon.stop()).toBe(0);
  });
});

async function drain<T extends { status: number }>(ask: () => Promise<T>): Promise<T> {
  for (let n = 0; n < 200; n++) {
    const got = await ask();
    if (got.status !== 200) return got;
  }
  throw new Error("200 requests at once and no limit");
}
