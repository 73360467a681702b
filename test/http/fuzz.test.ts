import { expect, test } from "bun:test";
import { type ApiDocument, createConformance } from "./document.ts";
import { hostileRequests } from "./hostile-requests.ts";
import { chance } from "./hostile-values.ts";
import { bench } from "./make.ts";

const SEED = Number(process.env.FUZZ_SEED ?? 20260301);
const REQUESTS = process.env.SLOW_TESTS === "1" ? 60_000 : 10_000;
const DEADLINE_MS = 60_000;
/** Limit of the heap growth. Requests must leave nothing behind. */
const GROWTH_BYTES = 24 * 1024 * 1024;

test(`${REQUESTS} hostile requests get documented answers and leave nothing behind`, async () => {
  // Nothing is created, because this tests the app and not the store.
  const at = bench();
  const keys: Readonly<Record<string, string | null>> = { ...at.keys, nobody: null };
  const known = at.deps.keys.list().length;
  const admin = at.deps.keys.list().find(({ role }) => role === "admin");
  if (admin === undefined) throw new Error("no admin");
  const app = bench({
    keys: { ...at.deps.keys, create: () => ({ outcome: "name-taken", key: admin }), revoke: () => "unknown" },
    log: () => ({ debug() {}, info() {}, warn() {}, error() {} }),
  }).app;
  const document = (await (await at.get("/swagger/json", { key: null })).json()) as ApiDocument;
  const conformance = createConformance(document);
  const dice = chance(SEED);
  const statuses = new Map<number, number>();
  let unsendable = 0;
  let before = 0;

  const requests = hostileRequests(document, dice);
  for (let n = 0; n < REQUESTS; n++) {
    if (n === Math.floor(REQUESTS / 5)) {
      Bun.gc(true);
      before = process.memoryUsage().heapUsed;
    }
    const { value } = requests.next();
    if (value === undefined) throw new Error("no more requests");
    const role = dice.pick(Object.keys(keys));
    const key = keys[role] ?? null;
    const { method, target, headers, body } = value;
    let request: Request;
    try {
      const sent = new Headers();
      for (const [name, content] of headers) sent.append(name, content);
      if (key !== null && !sent.has("x-api-key")) sent.set("x-api-key", key);
      const takesBody = body !== null && method !== "GET" && method !== "HEAD";
      request = new Request(`http://lic${target}`, { method, headers: sent, ...(takesBody && { body }) });
    } catch {
      // fetch cannot send this header or URL; the test of the built binary sends it over a socket.
      unsendable++;
      continue;
    }
    const where = `seed ${SEED}, request ${n} as ${role}: ${method} ${target.slice(0, 300)}`;
    const response = await inTime(Promise.resolve(app.handle(request)), where);
    const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
    const text = isStream ? null : await inTime(response.text(), where);
    if (isStream) await response.body?.cancel();
    const { status } = response;
    const { pathname } = new URL(request.url);
    const problems = conformance.check(method, pathname, { status, headers: response.headers, text });
    if (text?.includes("INTERNAL_ERROR")) problems.push("an unexpected exception");
    if (status >= 500) problems.push("a 5xx");
    if (problems.length > 0) throw new Error(`${where} → ${status}: ${problems.join("; ")}\n${text}`);
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
  }
  Bun.gc(true);
  const grown = process.memoryUsage().heapUsed - before;
  console.log(
    `${REQUESTS - unsendable} answers: ${[...statuses]
      .sort()
      .map(([status, count]) => `${status}×${count}`)
      .join(" ")}; heap ${(grown / 1e6).toFixed(1)} MB more`,
  );
  // Requests must reach the routes and be refused in many ways.
  for (const status of [200, 400, 401, 403, 404, 405, 413])
    expect(statuses.get(status) ?? 0).toBeGreaterThan(5);
  expect(grown).toBeLessThan(GROWTH_BYTES);
  expect(at.deps.keys.list().length).toBe(known);
  expect(({} as Record<string, unknown>).x).toBeUndefined();
});

async function inTime<T>(work: Promise<T>, what: string): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`no answer in ${DEADLINE_MS} ms: ${what}`)), DEADLINE_MS);
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
