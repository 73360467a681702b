import { beforeEach, expect, test } from "bun:test";
import { gzipSync } from "node:zlib";
import type { Answer } from "../../src/fleet/protocol.ts";
import type { ApiDocument } from "../http/document.ts";
import { expectRefused, wrongBodies } from "../http/wrong-bodies.ts";
import { until } from "../until.ts";
import { describeHub, type TestSite } from "./describe-hub.ts";
import { madeUpFacts, startHub } from "./rig.ts";

const NOW = Date.now();

describeHub("a push", { each: true }, (at) => {
  const { hub, keys } = at;
  let site: TestSite;
  beforeEach(async () => {
    site = await at.site("muc");
  });

  const counts = async () => {
    const [row] = await at.pool`
      SELECT (SELECT count(*)::int FROM open_sessions) AS open, (SELECT count(*)::int FROM sessions) AS ended,
        (SELECT count(*)::int FROM steps) AS steps, (SELECT count(*)::int FROM refused) AS refused`;
    return { ...row };
  };
  const errorOf = async (response: Response) => {
    const { code, details } = (await response.json()) as { code: string; details?: string };
    return [response.status, code, details ?? null];
  };

  test("a hello returns the cursor and no secret, and changes nothing", async () => {
    const hello = site.push({ hello: true });
    const first = await site.sends(hub.url, hello);
    expect(first).toEqual({ cursor: 0, commands: [], wanted: [] });
    expect(await site.sends(hub.url, hello)).toEqual(first);
    expect(await at.pool`SELECT 1 FROM sites`).toHaveLength(0);
    const next = await site.pushes({ to: 3, facts: madeUpFacts(1, 3, NOW) });
    expect(next).toEqual({ cursor: 3, commands: [], wanted: [] });
    expect((await site.pushes({ from: 4, to: 3, hello: true, begins: false })).cursor).toBe(3);
  });

  test("a hub that lost a site's database asks for everything", async () => {
    const late = site.push({ from: 8, to: 8, begins: false, facts: madeUpFacts(8, 1, NOW) });
    expect(await errorOf(await site.send(hub.url, late))).toEqual([409, "CONFLICT", "epoch"]);
    expect((await site.sends(hub.url, { ...late, begins: true })).cursor).toBe(8);
  });

  test("repeated facts are stored once, and a gap is a conflict with the cursor", async () => {
    const push = site.push({ to: 300, facts: madeUpFacts(1, 300, NOW) });
    expect((await site.sends(hub.url, push)).cursor).toBe(300);
    const once = await counts();
    expect(once).toEqual({ open: 0, ended: 100, steps: 100, refused: 0 });
    expect((await site.sends(hub.url, push)).cursor).toBe(300);
    // The hub already has half of these facts.
    const more = site.push({ from: 151, to: 450, facts: madeUpFacts(151, 300, NOW) });
    expect((await site.sends(hub.url, more)).cursor).toBe(450);
    expect(await counts()).toEqual({ open: 0, ended: 150, steps: 150, refused: 0 });
    const gap = await site.tries({ from: 452, to: 452, facts: madeUpFacts(452, 1, NOW) });
    expect(await errorOf(gap)).toEqual([409, "CONFLICT", "cursor=450"]);
    const told = site.push({ from: 452, to: 452, gap: true, facts: madeUpFacts(452, 1, NOW) });
    expect((await site.sends(hub.url, told)).cursor).toBe(452);
  });

  test("a push that arrives after a later one reverts nothing", async () => {
    const openSession = madeUpFacts(1, 1, NOW)[0];
    const users = { table: "sessions", day: -1, part: 0, rows: [] };
    const early = site.push({ days: [users] as never });
    await site.pushes({ to: 1, facts: [openSession] });
    expect((await counts()).open).toBe(1);
    expect(await errorOf(await site.send(hub.url, early))).toEqual([409, "CONFLICT", "cursor=1"]);
    expect((await counts()).open).toBe(1);
    // The site builds the day again, and the hub accepts it.
    await site.pushes({ from: 2, to: 1, days: [users] as never });
    expect((await counts()).open).toBe(0);
  });

  test("a session keeps the hub's id until its end", async () => {
    await site.pushes({ to: 1, facts: madeUpFacts(1, 1, NOW) });
    const [{ id }] = await at.pool`SELECT id FROM open_sessions`;
    await site.pushes({ from: 2, to: 2, facts: madeUpFacts(2, 1, NOW) });
    const [ended] = await at.pool`SELECT id, end_reason FROM sessions`;
    expect(ended).toMatchObject({ id, end_reason: "checkin" });
    expect(await counts()).toMatchObject({ open: 0, ended: 1 });
  });

  test("a session without a user name is one session until its end", async () => {
    const facts = madeUpFacts(1, 2, NOW).map((fact) => ({ ...fact, user: null, host: null }));
    await site.pushes({ to: 1, facts: facts.slice(0, 1) });
    expect(await counts()).toMatchObject({ open: 1, refused: 0 });
    await site.pushes({ from: 2, to: 2, facts: facts.slice(1) });
    expect(await counts()).toMatchObject({ open: 0, ended: 1, refused: 0 });
    type Sessions = { sessions: { user: string | null; host: string | null }[] };
    const { sessions } = await hub.json<Sessions>("/api/licenses/sessions");
    expect(sessions).toMatchObject([{ user: null, host: null }]);
  });

  test("invalid facts are set aside with their reasons, and do not stop the others", async () => {
    const facts = madeUpFacts(1, 9, NOW);
    const bad = [
      { ...facts[0], user: 5 },
      { ...facts[3], host: 7 },
      { ...facts[4], startedAt: 1e300 },
      { kind: "dream", seq: 7, of: "later" },
    ];
    const mixed = facts.map((fact) => bad.find(({ seq }) => seq === fact.seq) ?? fact);
    expect((await site.pushes({ to: 9, facts: mixed })).cursor).toBe(9);
    const refused = await at.pool`SELECT seq::int AS seq, reason, body FROM refused ORDER BY seq`;
    expect(refused.map(({ seq }: { seq: number }) => seq)).toEqual([1, 4, 5, 7]);
    expect(JSON.parse(refused[1].body.toString())).toEqual(bad[1]);
    expect(await counts()).toMatchObject({ steps: 3, refused: 4 });
    // The starts of sessions 2 and 8 were refused or had already been stored.
    expect(await counts()).toMatchObject({ open: 0, ended: 2 });
  });

  test("names are opaque: quotes, direction marks, markup and formulas are stored unchanged", async () => {
    const names = [
      'O\'Neil "x"',
      "\u202Egnp.exe",
      "<script>alert(1)</script>",
      "=cmd()",
      "a\tb\\u0000",
      "🙂",
      // PostgreSQL's text type cannot store these two names.
      "\0",
      "\ud800",
    ];
    const facts = names.map((user, index) => ({ ...madeUpFacts(index * 3 + 1, 1, NOW)[0], user }));
    await site.pushes({ to: 100, facts });
    const rows = await at.pool`SELECT user_name FROM open_sessions ORDER BY site_id`;
    expect(rows.map(({ user_name }: { user_name: string }) => user_name)).toEqual(
      names.with(-1, "\uFFFD").with(-2, "\uFFFD"),
    );
  });

  test("another process of the site is refused while the first one pushes", async () => {
    await site.pushes();
    const clone = await site.send(hub.url, { ...site.push(), instance: "0123456789abcdef" });
    expect(await errorOf(clone)).toEqual([409, "CONFLICT", "instance"]);
    await at.pool`UPDATE sites SET last_push_at = last_push_at - 31000`;
    await site.sends(hub.url, { ...site.push(), instance: "0123456789abcdef" });
  });

  test("bodies have a size limit, compressed and decompressed, and must be complete", async () => {
    const post = (body: Uint8Array<ArrayBuffer>, encoding: string) =>
      fetch(`${hub.url}/api/fleet/push`, {
        method: "POST",
        headers: { "x-api-key": site.key, "content-encoding": encoding },
        body,
      });
    const zeros = new Uint8Array(200_000_000);
    expect((await post(new Uint8Array(Bun.zstdCompressSync(zeros)), "zstd")).status).toBe(413);
    expect((await post(new Uint8Array(gzipSync(zeros)), "gzip")).status).toBe(413);
    expect((await post(crypto.getRandomValues(new Uint8Array(65_536)), "zstd")).status).toBe(400);
    const good = Bun.zstdCompressSync(JSON.stringify(site.push()));
    expect((await post(new Uint8Array(good.subarray(0, good.length - 3)), "zstd")).status).toBe(400);
    expect((await post(new Uint8Array(2 * 1024 * 1024), "zstd")).status).toBe(413);
    expect((await post(new TextEncoder().encode(JSON.stringify(site.push())), "identity")).status).toBe(400);
    expect((await post(new Uint8Array(gzipSync(JSON.stringify(site.push()))), "gzip")).status).toBe(200);
  });

  test.each(["facts", "states", "days"])(
    "a small body that decompresses to millions of wrong %s gets one short answer",
    async (list) => {
      const json = JSON.stringify({ ...site.push(), [list]: "@" }).replace(
        '"@"',
        `[${"0,".repeat(3_900_000)}0]`,
      );
      const answer = await fetch(`${hub.url}/api/fleet/push`, {
        method: "POST",
        headers: { "x-api-key": site.key, "content-encoding": "zstd" },
        body: Bun.zstdCompressSync(json),
      });
      const { code, message } = (await answer.json()) as { code: string; message: string };
      const most = list === "states" ? 10_000 : 2_000;
      expect([code, message]).toEqual([
        "INVALID_FIELD",
        `Field "${list}" must be a list of ${most} at most.`,
      ]);
    },
  );

  test("every other route with a body reports the first of a million wrong elements", async () => {
    await using large = await startHub(at.database, undefined, "", {
      LICMOND_HTTP_MAX_BODY_BYTES: "16777216",
    });
    const document = (await (await fetch(`${large.url}/swagger/json`)).json()) as ApiDocument;
    const bodies = wrongBodies(document);
    expect(new Set(bodies.map(({ path }) => path)).size).toBeGreaterThan(5);
    const headers = { "x-api-key": keys.admin, "content-type": "application/json" };
    for (const body of bodies)
      await expectRefused(body, (path, json) =>
        fetch(large.url + path, { method: "POST", headers, body: json }),
      );
  });

  test("a restored site has a new epoch: its numbers restart and mean other rows", async () => {
    await site.pushes({ to: 30, facts: madeUpFacts(1, 30, NOW) });
    const restored = { epoch: "00000000000000ab" };
    const hello: Answer = await site.sends(hub.url, { ...site.push({ hello: true }), ...restored });
    expect(hello.cursor).toBe(0);
    await site.sends(hub.url, {
      ...site.push({ to: 30, facts: madeUpFacts(1, 30, NOW + 1_000_000) }),
      ...restored,
    });
    expect(await counts()).toMatchObject({ ended: 20 });
  });

  test("when too many pushes wait, the others are asked to retry later", async () => {
    const { promise: isDone, resolve: done } = Promise.withResolvers<void>();
    const { promise: isLocked, resolve: locked } = Promise.withResolvers<void>();
    const blocker = at.pool.begin(async (tx) => {
      await tx`LOCK TABLE sites IN ACCESS EXCLUSIVE MODE`;
      locked();
      await isDone;
    });
    await isLocked;
    const push = site.push({ to: 3, facts: madeUpFacts(1, 3, NOW) });
    const refused: Response[] = [];
    const sent = Array.from({ length: 80 }, async () => {
      const response = await site.send(hub.url, push);
      if (response.status === 429) refused.push(response);
      return response;
    });
    await until("those beyond are refused", () => refused.length === 8 || undefined);
    for (const { headers } of refused) {
      expect(Number(headers.get("retry-after"))).toBeGreaterThanOrEqual(2);
      expect(Number(headers.get("retry-after"))).toBeLessThanOrEqual(5);
    }
    done();
    await blocker;
    const statuses = (await Promise.all(sent)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(72);
    expect(refused).toHaveLength(8);
    expect(await counts()).toEqual({ open: 0, ended: 1, steps: 1, refused: 0 });
  });
});
