import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { freePort } from "../free-port.ts";
import { until } from "../until.ts";
import { HAS_POSTGRES, type Postgres, startPostgres } from "./postgres.ts";
import { keyAt, madeUpFacts, madeUpSite, open, startHub } from "./rig.ts";

interface Health {
  readonly status: string;
  readonly checks: { readonly database: { readonly status: string; readonly message: string } };
}

describe.skipIf(!HAS_POSTGRES)("a hub with a read replica", () => {
  let primary: Postgres;
  let standby: Postgres;
  beforeAll(async () => {
    primary = await startPostgres(await freePort(), ["fsync=off"]);
    standby = await startPostgres(await freePort(), ["fsync=off"], [], primary);
  });
  afterAll(async () => {
    await standby?.[Symbol.asyncDispose]();
    await primary?.[Symbol.asyncDispose]();
  });

  test("reads lists and statistics from the replica, or the primary if the replica is behind or down", async () => {
    const database = await primary.database();
    const read = database.replace(String(primary.port), String(standby.port));
    const viewer = await keyAt(database, { role: "viewer" });
    const site = madeUpSite("muc", await keyAt(database, { role: "site", site: "muc" }));
    let ahead = 0;
    const clock = { now: () => Date.now() + ahead };
    await using hub = await startHub(database, clock, `read_database = "${read}"\n`);
    const health = async () => (await hub.json<Health>("/api/health", viewer)).checks.database;
    const count = async (path: string) => (await hub.json<{ total: number }>(path, viewer)).total;
    const sessions = () => count("/api/licenses/sessions");
    const groups = () => count("/api/licenses/usage?start=-1d&group_by=user");
    const becomes = (what: string, ask: () => Promise<number>, wanted: number) =>
      until(what, async () => (await ask()) === wanted || undefined);
    const pushed = async (from: number, to: number) => {
      const facts = madeUpFacts(from, to - from + 1, Date.now() - 600_000);
      await site.sends(hub.url, site.push({ from, to, begins: from === 1, facts, sentAt: clock.now() }));
    };

    await pushed(1, 30);
    await until(
      "the replica is used",
      async () => (await health()).message === "The database is responding" || undefined,
    );
    await becomes("the replica has the first ones", sessions, 10);
    await becomes("the worker has them too", groups, 10);

    const replica = open(read);
    await replica`SELECT pg_wal_replay_pause()`;
    await until("it is paused", async () => {
      const [row] = await replica`SELECT pg_get_wal_replay_pause_state() AS state`;
      return row.state === "paused" || undefined;
    });
    await pushed(31, 60);
    // The primary gets no new rows here, so these answers come from the replica.
    expect([await sessions(), await groups()]).toEqual([10, 10]);

    ahead = 11_000;
    await until(
      "the replica is too far behind",
      async () => (await health()).status === "degraded" || undefined,
    );
    expect((await health()).message).toMatch(/^The replica is \d+ s behind: reading lists from the primary$/);
    await becomes("the primary answers", sessions, 20);
    await becomes("the worker asks it too", groups, 20);

    await replica`SELECT pg_wal_replay_resume()`;
    await replica.close();
    await until("the replica keeps up again", async () => (await health()).status === "healthy" || undefined);
    await becomes("it has all", sessions, 20);

    await standby.kill();
    await until(
      "it is away",
      async () => (await health()).message.startsWith("The replica is not responding") || undefined,
    );
    expect([await sessions(), await groups()]).toEqual([20, 20]);
    await standby.start();
    await until("it is back", async () => (await health()).status === "healthy" || undefined);
    expect(await sessions()).toBe(20);
  });
});
