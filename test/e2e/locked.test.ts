import { expect, test } from "bun:test";
import { join } from "node:path";
import { holdLock } from "./faults.ts";
import { until } from "./harness.ts";
import { lmstat } from "./lmstat.ts";
import { createSite, serverToml } from "./site.ts";

const READS = ["/api/licenses", "/api/status", "/api/licenses/sessions", "/api/logs/recent", "/api/keys"];
/**
 * Lag of the event loop above which a write on it waited for the lock. Other writes wait 5 s for the lock;
 * a write on the event loop waits 0.1 s.
 */
const HELD_LOOP_MS = 4_500;

const heldBy = (user: string) => lmstat({ solver: { total: 4, holders: [{ user, host: "ws01" }] } });

/** Starts a daemon that has read one seat of ada. */
async function daemonWithSeat() {
  await using opened = new AsyncDisposableStack();
  const site = opened.use(await createSite());
  const tool = await site.tool("lmutil");
  await tool.says(heldBy("ada"));
  await site.configure(serverToml("eda", tool.path));
  const daemon = opened.use(await site.serve());
  const key = await site.key("admin");
  const rescan = () => daemon.post("/api/licenses/rescan", key);
  expect((await rescan()).status).toBe(200);
  const lock = (name: string) => holdLock(join(site.folder, "storage", name));
  const users = async () => (await daemon.json<{ users: object[] }>("/api/licenses/users", key)).users;
  const stored = (count: number) =>
    until(`${count} sessions are stored`, async () => {
      const { total } = await daemon.json<{ total: number }>("/api/licenses/sessions", key);
      return total === count || undefined;
    });
  const close = opened.move();
  const end = () => close.disposeAsync();
  return { tool, daemon, key, rescan, lock, users, stored, [Symbol.asyncDispose]: end };
}

test("while another program locks both databases, reads work, and seats are stored later", async () => {
  await using at = await daemonWithSeat();
  const { daemon, key, rescan, users } = at;
  const releases = await Promise.all(["licmond.db", "state.db"].map(at.lock));
  for (const user of ["grace", "linus"]) {
    await at.tool.says(heldBy(user));
    const reads = READS.map(async (path) => ({ path, status: (await daemon.get(path, key)).status }));
    expect((await rescan()).status).toBe(200);
    expect(await Promise.all(reads)).toEqual(READS.map((path) => ({ path, status: 200 })));
    expect(await users()).toMatchObject([{ user, session: null }]);
  }
  const { eventLoopLagMs } = await daemon.json<{ eventLoopLagMs: number }>("/api/status", key);
  expect(eventLoopLagMs).toBeLessThan(HELD_LOOP_MS);

  const creation = daemon.post("/api/keys", key, { name: "made under the lock", role: "viewer" });
  creation.catch(() => {});
  expect((await daemon.get("/api/licenses", key)).status).toBe(200);
  for (const release of releases) await release();
  const created = await creation;
  expect(created.status).toBe(201);
  const { key: made } = (await created.json()) as { key: string };
  expect((await daemon.get("/api/licenses", made)).status).toBe(200);
  expect((await rescan()).status).toBe(200);
  // These are the sessions of ada and linus. The polls with grace could not be stored.
  await at.stored(2);
  expect(await users()).toMatchObject([{ user: "linus", session: expect.any(Number) }]);
  for (const line of ["Cannot store pictures", "Pictures are stored again"])
    expect(daemon.output().split(line).length - 1).toBe(1);
});

test("while another program locks state.db, polls are stored", async () => {
  await using at = await daemonWithSeat();
  const release = await at.lock("state.db");
  for (const [index, user] of ["grace", "linus", "margaret"].entries()) {
    await at.tool.says(heldBy(user));
    expect((await at.rescan()).status).toBe(200);
    expect(await at.users()).toMatchObject([{ user, session: expect.any(Number) }]);
    await at.stored(index + 2);
  }
  await release();
  expect(at.daemon.output()).not.toMatch(/cannot be stored|could not be/);
});
