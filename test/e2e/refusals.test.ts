import { afterAll, beforeAll, expect, test } from "bun:test";
import type { ApiDocument } from "../http/document.ts";
import { createErrorSite } from "./error-site.ts";
import type { Daemon } from "./harness.ts";
import type { Site } from "./site.ts";

/**
 * Sends each wrong value to the built binary. Minifying changes what Elysia infers, so a value that is refused from source
 * could be accepted there.
 */

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

let site: Site;
let daemon: Daemon;
let admin: string;
beforeAll(async () => {
  site = await createErrorSite("[limits]\nburst = 10000");
  daemon = await site.serve();
  admin = await site.key("admin");
});
afterAll(async () => {
  await daemon.stop();
  await site[Symbol.asyncDispose]();
});

test("the built binary refuses every wrong parameter, and says what it got and expects", async () => {
  const document = await daemon.json<ApiDocument>("/swagger/json");
  const refused = async (path: string): Promise<Refusal> => {
    const response = await daemon.get(path, admin);
    const body = (await response.json()) as Refusal;
    expect([path, response.status, body.code]).toEqual([path, 400, "INVALID_QUERY"]);
    return body;
  };
  let tried = 0;
  for (const [template, item] of Object.entries(document.paths)) {
    // A plain GET of a WebSocket's path is refused for another reason.
    if (item.get === undefined || template.startsWith("/ws/")) continue;
    const path = template.replace("{id}", "good");
    if (item.get["x-permission"] === "open") {
      expect((await daemon.get(`${path}?nonsense=1`)).status).toBe(200);
      continue;
    }
    expect((await refused(`${path}?nonsense=1`)).message).toStartWith(
      'Query parameter "nonsense" is not known here.',
    );
    for (const { name, in: where, schema } of item.get.parameters ?? []) {
      if (where !== "query") continue;
      const wrong = wrongFor(template, name, schema);
      if (wrong !== null) {
        const { message } = await refused(`${path}?${name}=${encodeURIComponent(wrong)}`);
        expect(message).toStartWith(`Query parameter "${name}" got "${wrong.slice(0, 20)}`);
        expect(message).toContain("; it takes ");
        tried++;
      }
      if (schema.type === "array") continue;
      const { message } = await refused(`${path}?${name}=1&${name}=1`);
      expect(message).toStartWith(`Query parameter "${name}" is given 2 times; it takes `);
    }
  }
  expect(tried).toBeGreaterThan(80);
  const limit = await refused("/api/licenses/features?limt=5");
  expect(limit.message).toBe('Query parameter "limt" is not known here. The closest one is "limit".');
});

const KEYS = "/api/keys";
const VIEWER = { name: "a", role: "viewer" };
const RESCAN = "/api/licenses/rescan";

test.each<[path: string, body: unknown, says: RegExp]>([
  [KEYS, { role: "viewer" }, /^Field "name" is missing: it takes a string/],
  [KEYS, { name: 7, role: "viewer" }, /^Field "name" must be a string/],
  [KEYS, { name: "a", role: "root" }, /^Field "role" must be one of calendar/],
  [KEYS, { ...VIEWER, expireAt: null }, /"expireAt" is not known .* closest one is "expiresAt"\.$/],
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
])("the built binary refuses a wrong body of %s, and says what it takes: %j", async (path, body, says) => {
  const response = await daemon.post(path, admin, body);
  const { code, message } = (await response.json()) as Refusal;
  const missing = message.includes("is missing");
  expect([response.status, code]).toEqual([400, missing ? "MISSING_FIELD" : "INVALID_FIELD"]);
  expect(message).toMatch(says);
});
