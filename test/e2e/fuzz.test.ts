import { expect, test } from "bun:test";
import { readFile } from "node:fs/promises";
import { type ApiDocument, createConformance } from "../http/document.ts";
import { type HostileRequest, hostileRequests } from "../http/hostile-requests.ts";
import { chance } from "../http/hostile-values.ts";
import { createErrorSite } from "./error-site.ts";
import { until } from "./harness.ts";
import { sendRaw } from "./raw-http.ts";
import { SLOW } from "./slow.ts";

const SEED = Number(process.env.FUZZ_SEED ?? 20260302);
const REQUESTS = SLOW ? 30_000 : 2_000;
const AT_ONCE = 8;
/** What is not HTTP is refused by Bun with one of these, without a body (listen.test.ts holds when). */
const BARE = [400, 413, 431, 505];
const LIMITS = "[limits]\nrequests_per_minute = 1000000\nburst = 1000000\nanonymous_per_minute = 1000000\n";
const GROWTH_KB = 60_000;

async function residentKb(pid: number): Promise<number> {
  return Number(/^VmRSS:\s+(\d+)/m.exec(await readFile(`/proc/${pid}/status`, "utf8"))?.[1]);
}

test(`${REQUESTS} hostile requests over the wire leave the daemon as it was`, async () => {
  await using site = await createErrorSite(LIMITS);
  await using daemon = await site.serve();
  const keys: (readonly [role: string, key: string | null])[] = [["nobody", null]];
  for (const role of ["admin", "operator", "viewer", "calendar"]) keys.push([role, await site.key(role)]);
  const hidden = await site.run([..."keys create --name hidden --role viewer --anonymize".split(" ")]);
  keys.push(["anonymized", hidden.stdout.trim()]);
  const document = (await (await daemon.get("/swagger/json")).json()) as ApiDocument;
  const conformance = createConformance(document);
  const dice = chance(SEED);
  const requests = hostileRequests(document, dice);
  const statuses = new Map<number | null, number>();
  let sent = 0;

  const one = async ({ headers, ...request }: HostileRequest, n: number) => {
    const [role, key] = dice.pick(keys);
    const mine = headers.filter(([name]) => name !== "X-API-Key" || key === null);
    const whole = { ...request, headers: key === null ? mine : [...mine, ["X-API-Key", key] as const] };
    const where = `seed ${SEED}, request ${n} as ${role}: ${request.method} ${request.target.slice(0, 300)}`;
    const answer = await sendRaw(site.port, whole, dice.below(4) === 0).catch((error) => {
      throw new Error(`${where}: ${error}`);
    });
    statuses.set(answer?.status ?? null, (statuses.get(answer?.status ?? null) ?? 0) + 1);
    if (answer === null) throw new Error(`${where}: the connection was closed without an answer`);
    const { status, headers: got, text } = answer;
    if (BARE.includes(status) && !got.has("x-request-id")) {
      if (text !== "") throw new Error(`${where} → ${status}, bare but for ${text}`);
      return;
    }
    // The path as the daemon reads it: Bun resolves dots.
    const { pathname } = new URL(`http://lic${request.target.split("?", 1)[0]}`);
    // Where Bun's router reads a dot at the end as a name and its URL does not, the gate lets nothing through.
    const asked = text?.includes("There is no such path") === true ? "/nowhere" : pathname;
    const problems = conformance.check(request.method, asked, { status, headers: got, text });
    // What the tools of this site bring about is documented; nothing else of ours may fail.
    if (/INTERNAL_ERROR|DATABASE_ERROR/.test(text ?? "")) problems.push("an unexpected failure");
    if (problems.length > 0) throw new Error(`${where} → ${status}: ${problems.join("; ")}\n${text}`);
  };
  const worker = async (until: number) => {
    while (sent < until) {
      const n = sent++;
      const { value } = requests.next();
      if (value === undefined) throw new Error("no more requests");
      await one(value, n);
    }
  };
  const batch = (until: number) => Promise.all(Array.from({ length: AT_ONCE }, () => worker(until)));

  await batch(REQUESTS / 4);
  const before = await residentKb(daemon.pid);
  await batch(REQUESTS);
  const after = await residentKb(daemon.pid);
  console.log(
    `${[...statuses]
      .sort()
      .map(([status, count]) => `${status}×${count}`)
      .join(" ")}; resident ${before} → ${after} KB`,
  );
  // What lies about is collected when it is collected; what is kept stays.
  await until(
    "it has no more than before",
    async () => (await residentKb(daemon.pid)) - before < GROWTH_KB || undefined,
  );
  expect((await daemon.get("/api/ping")).status).toBe(200);
  const viewer = keys.find(([role]) => role === "viewer")?.[1] ?? undefined;
  expect((await daemon.get("/api/licenses/summary", viewer)).status).toBe(200);
  expect(daemon.output()).not.toMatch(/lmk_[a-z0-9]{12}_|Unhandled|uncaught/i);
  expect(await daemon.stop()).toBe(0);
});
