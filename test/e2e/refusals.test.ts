import { expect, test } from "bun:test";
import type { ApiDocument } from "../http/document.ts";
import { createErrorSite } from "./error-site.ts";

/**
 * Wrong values, each once, at the built binary: minifying changes what Elysia infers and catches, so that what is
 * refused from source could pass there.
 */

interface Refusal {
  readonly code: string;
  readonly message: string;
}

/** A value of each type of parameter that it does not take; null where every text is taken. */
function wrongFor(
  name: string,
  { type, enum: words, items }: { type?: unknown; enum?: unknown; items?: unknown },
) {
  if (type === "integer" || type === "number") return "0x1F";
  if (type === "boolean") return "yes";
  if (words !== undefined || (items as { enum?: unknown } | undefined)?.enum !== undefined)
    return "no-such-word";
  if (/^(start|end)(_time)?$/.test(name)) return "2026-02-30";
  if (name === "timezone") return "Mars/Olympus";
  if (name === "q") return Array.from({ length: 21 }, (_, n) => `word${n}`).join(" ");
  return null;
}

test("the built binary refuses every wrong parameter, and says what it got and what it takes", async () => {
  await using site = await createErrorSite("[limits]\nburst = 10000");
  await using daemon = await site.serve();
  const admin = await site.key("admin");
  const document = (await (await daemon.get("/swagger/json")).json()) as ApiDocument;
  const refused = async (path: string): Promise<Refusal> => {
    const response = await daemon.get(path, admin);
    const body = (await response.json()) as Refusal;
    expect([path, response.status, body.code]).toEqual([path, 400, "INVALID_QUERY"]);
    return body;
  };
  let tried = 0;
  for (const [template, item] of Object.entries(document.paths)) {
    // A plain GET of a socket's path is refused for what it is.
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
      const wrong = wrongFor(name, schema);
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

const BODIES: readonly [string, string, unknown, string, RegExp][] = [
  [
    "an absent field",
    "/api/keys",
    { role: "viewer" },
    "MISSING_FIELD",
    /^Field "name" is missing: it takes a text/,
  ],
  [
    "a number as name",
    "/api/keys",
    { name: 7, role: "viewer" },
    "INVALID_FIELD",
    /^Field "name" must be a text/,
  ],
  [
    "an unknown role",
    "/api/keys",
    { name: "a", role: "root" },
    "INVALID_FIELD",
    /^Field "role" must be one of calendar/,
  ],
  [
    "a misspelt field",
    "/api/keys",
    { name: "a", role: "viewer", expireAt: null },
    "INVALID_FIELD",
    /^Field "expireAt" is not known here: .* The closest one is "expiresAt"\.$/,
  ],
  [
    "a day that does not exist",
    "/api/keys",
    { name: "a", role: "viewer", expiresAt: "2027-02-30T00:00:00Z" },
    "INVALID_FIELD",
    /^Field "expiresAt" must be a time .* or null\.$/,
  ],
  [
    "a quota of 0",
    "/api/keys",
    { name: "a", role: "viewer", dailyQuota: 0 },
    "INVALID_FIELD",
    /^Field "dailyQuota" must be a whole number of 1 or more or null\.$/,
  ],
  [
    "a text as flag",
    "/api/keys",
    { name: "a", role: "viewer", anonymize: "true" },
    "INVALID_FIELD",
    /must be true or false/,
  ],
  [
    "an empty list",
    "/api/licenses/rescan",
    { servers: [] },
    "INVALID_FIELD",
    /^Field "servers" must be a list that is not empty/,
  ],
  [
    "a number in a list",
    "/api/licenses/rescan",
    { servers: ["good", 7] },
    "INVALID_FIELD",
    /^Field "servers\[1\]" must be a text/,
  ],
  ["a list as body", "/api/licenses/rescan", [], "INVALID_FIELD", /^The body must be an object\.$/],
  ["null as body", "/api/licenses/rescan", null, "INVALID_FIELD", /^The body must be an object\.$/],
  [
    "a short timeout",
    "/api/execute",
    { command: "status", timeoutMs: 5 },
    "INVALID_FIELD",
    /from 1000 to 600000/,
  ],
  [
    "an unknown argument",
    "/api/execute",
    { command: "remove", args: { usr: "x" } },
    "INVALID_FIELD",
    /^Field "args.usr" .* The closest one is "user"\.$/,
  ],
  [
    "a long comment",
    "/api/licenses/alerts/1/acknowledge",
    { comment: "x".repeat(1001) },
    "INVALID_FIELD",
    /of 0 to 1000 characters/,
  ],
  [
    "a bad time",
    "/api/logs/clear",
    { before: "yesterday" },
    "INVALID_FIELD",
    /^Field "before" must be a time: now/,
  ],
];

test("the built binary refuses every wrong body, and says what it takes", async () => {
  await using site = await createErrorSite();
  await using daemon = await site.serve();
  const admin = await site.key("admin");
  for (const [what, path, body, code, says] of BODIES) {
    const response = await daemon.get(path, admin, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
    const refusal = (await response.json()) as Refusal;
    expect([what, response.status, refusal.code]).toEqual([what, 400, code]);
    expect(refusal.message).toMatch(says);
  }
});
