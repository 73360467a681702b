import { describe, expect, test } from "bun:test";
import { createHubQuotas } from "../../src/hub/access/access.ts";
import { migrate } from "../../src/hub/database/migrate.ts";
import { until } from "../until.ts";
import { usePostgres } from "./describe-hub.ts";
import { HAS_POSTGRES } from "./postgres.ts";
import { keyAt, known, open, startHub } from "./rig.ts";

const DAY = 86_400_000;
const NOON = Date.parse("2026-03-02T12:00:00.000Z");
const MIDNIGHT = Date.parse("2026-03-03T00:00:00.000Z");
const MONTH_END = Date.parse("2026-04-01T00:00:00.000Z");

describe.skipIf(!HAS_POSTGRES)("quotas at two hubs", () => {
  const postgres = usePostgres();

  /** Creates the quotas of two hubs on one database, each with its own clock. */
  async function two(at = NOON) {
    const pool = open(await postgres.database());
    await migrate(pool);
    const clocks: readonly [{ time: number }, { time: number }] = [{ time: at }, { time: at }];
    const make = (clock: { time: number }) => createHubQuotas(pool, { now: () => clock.time });
    const hubs = [await make(clocks[0]), await make(clocks[1])] as const;
    const take = (hub: 0 | 1, times = 1, daily: number | null = 10, monthly: number | null = null) =>
      Array.from({ length: times }, () => hubs[hub].take("k", { daily, monthly })).filter(
        (one) => one === null,
      ).length;
    const renew = async () => {
      for (const hub of [...hubs, ...hubs]) await hub.renew();
    };
    return { pool, clocks, hubs, take, renew, [Symbol.asyncDispose]: () => pool.close() };
  }

  test("add up, and refused requests do not count", async () => {
    await using site = await two();
    const { take, renew } = site;
    expect([take(0, 4), take(1, 4)]).toEqual([4, 4]);
    await renew();
    expect([take(0, 5), take(1, 2)]).toEqual([2, 2]);
    await renew();
    expect([take(0), take(1)]).toEqual([0, 0]);
    expect(site.hubs[1].take("k", { daily: 10, monthly: null })).toEqual({
      period: "day",
      limit: 10,
      until: MIDNIGHT,
    });
    expect(take(1, 1, null, 12)).toBe(0);
    expect(take(1, 1, null, 13)).toBe(1);
  });

  test("restart at midnight UTC, monthly ones on the first", async () => {
    await using site = await two();
    const { take, renew, clocks } = site;
    take(0, 10);
    await renew();
    for (const clock of clocks) clock.time = MIDNIGHT;
    expect([take(1), take(0)]).toEqual([1, 1]);
    await renew();
    expect(take(0, 100)).toBe(8);
    expect(take(0, 1, null, 20)).toBe(0);
    for (const clock of clocks) clock.time = MONTH_END;
    expect(take(0, 1, null, 20)).toBe(1);
  });

  test("do not restart while only one hub has passed midnight", async () => {
    await using site = await two(MIDNIGHT - 1);
    const { take, renew, clocks } = site;
    clocks[0].time = MIDNIGHT + 1;
    take(0, 5);
    await renew();
    take(1, 3);
    await renew();
    expect(take(0, 100)).toBe(2);
  });

  test("restart after a hub's clock was wrong by years", async () => {
    await using site = await two(NOON);
    const { take, renew, clocks } = site;
    clocks[0].time = NOON + 900 * DAY;
    take(0, 10);
    await site.hubs[0].renew();
    clocks[0].time = NOON;
    await renew();
    expect(take(1)).toBe(1);
    await renew();
    expect(take(0, 100)).toBe(9);
  });

  test("keep counting without PostgreSQL, and are written once", async () => {
    await using site = await two();
    const { take, renew, hubs, pool } = site;
    take(0, 3);
    await postgres.kill();
    expect(
      await hubs[0].renew().then(
        () => "written",
        () => "not written",
      ),
    ).toBe("not written");
    expect(take(0, 100)).toBe(7);
    await postgres.start();
    await until("it is written", () =>
      hubs[0].renew().then(
        () => true,
        () => undefined,
      ),
    );
    await renew();
    const [row] = await pool`SELECT day_count::int AS day, month_count::int AS month FROM quota_counts`;
    expect(row).toEqual({ day: 10, month: 10 });
  });

  test("apply over HTTP at either hub", async () => {
    const database = await postgres.database();
    const key = await keyAt(database, { role: "viewer", dailyQuota: 6 });
    const watcher = await keyAt(database, { role: "viewer" });
    await using first = await startHub(database);
    await using second = await startHub(database);
    await known(second, watcher);
    const statuses = async (hub: typeof first, times: number) => {
      const all: number[] = [];
      for (let n = 0; n < times; n++) all.push((await hub.get("/api/status", key)).status);
      return all;
    };
    expect(await statuses(first, 3)).toEqual([200, 200, 200]);
    const count = async () => {
      const pool = open(database);
      const [row] =
        await pool`SELECT day_count::int AS day FROM quota_counts WHERE key_id = ${key.split("_")[1]}`;
      await pool.close();
      return row?.day;
    };
    await until("the first hub's are written", async () => (await count()) === 3 || undefined);
    await until("the other hub has them", async () => {
      const remaining = await statuses(second, 1);
      return remaining[0] === 429 || undefined;
    });
    const refused = await second.get("/api/status", key);
    expect([refused.status, ((await refused.json()) as { code: string }).code]).toEqual([
      429,
      "QUOTA_EXCEEDED",
    ]);
    await until(
      "the first hub has the other's",
      async () => (await statuses(first, 1))[0] === 429 || undefined,
    );
  });
});
