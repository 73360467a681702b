import { expect, test } from "bun:test";
import { join } from "node:path";
import { holdLock } from "./faults.ts";
import { until } from "./harness.ts";
import { lmstat } from "./lmstat.ts";
import { createSite, serverToml } from "./site.ts";

const READS = ["/api/licenses", "/api/status", "/api/licenses/sessions", "/api/logs/recent", "/api/keys"];
/** A write that waits in the event loop waits 5 s; one that does not, a tenth of a second. */
const HELD_LOOP_MS = 4_500;

test("while another program has the database locked reads are answered, and what is written waits and is not lost", async () => {
  await using site = await createSite();
  const tool = await site.tool("lmutil");
  await tool.says(lmstat({ solver: { total: 4, holders: [{ user: "ada", host: "ws01" }] } }));
  await site.configure(serverToml("eda", tool.path));
  await using daemon = await site.serve();
  const key = await site.key("admin");
  const status = () =>
    daemon.json<{ collector: { runningPolls: number }; eventLoopLagMs: number | null }>("/api/status", key);
  expect((await daemon.post("/api/licenses/rescan", key)).status).toBe(200);

  const files = ["licmond.db", "state.db"].map((name) => join(site.folder, "storage", name));
  const releases = await Promise.all(files.map(holdLock));
  await tool.says(lmstat({ solver: { total: 4, holders: [{ user: "grace", host: "ws02" }] } }));
  let isDone = false;
  const rescan = daemon.post("/api/licenses/rescan", key).finally(() => {
    isDone = true;
  });
  // Where something else fails first, that is what is told.
  rescan.catch(() => {});
  await until("the poll is under way", async () => {
    const { collector } = await status();
    return collector.runningPolls > 0 || undefined;
  });
  for (let round = 0; round < 4; round++) {
    for (const path of READS)
      expect({ path, status: (await daemon.get(path, key)).status }).toEqual({ path, status: 200 });
  }
  // The reads did not wait for the lock to be gone.
  expect(isDone).toBe(false);
  const lagMs = await until(
    "the loop was looked at",
    async () => (await status()).eventLoopLagMs ?? undefined,
  );
  expect(lagMs).toBeLessThan(HELD_LOOP_MS);

  const creation = daemon.post("/api/keys", key, { name: "made under the lock", role: "viewer" });
  creation.catch(() => {});
  expect((await daemon.get("/api/licenses", key)).status).toBe(200);
  for (const release of releases) await release();
  const created = await creation;
  expect([(await rescan).status, created.status]).toEqual([200, 201]);
  const { key: made } = (await created.json()) as { key: string };
  expect((await daemon.get("/api/licenses", made)).status).toBe(200);
  await until("both sessions are stored", async () => {
    const { total } = await daemon.json<{ total: number }>("/api/licenses/sessions", key);
    return total === 2 || undefined;
  });
  expect(daemon.output()).not.toMatch(/cannot be stored|could not be/);
});
