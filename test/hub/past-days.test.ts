import { expect, test } from "bun:test";
import { DAY_MS } from "../../src/domain/time/clock.ts";
import { freePort } from "../free-port.ts";
import { HAS_POSTGRES, startPostgres } from "./postgres.ts";
import { keyAt, known, madeUpFacts, madeUpSite, open, startHub } from "./rig.ts";

const NOW = Date.parse("2026-03-04T10:25:00Z");
const TODAY = Math.floor(NOW / DAY_MS);

test.skipIf(!HAS_POSTGRES)("days outside of retention get no partition and no rows", async () => {
  await using postgres = await startPostgres(await freePort(), ["fsync=off"]);
  const database = await postgres.database();
  const retention = '[retention]\nsessions = "70d"\nsamples = "70d"\nrollups = "140d"\n';
  await using hub = await startHub(database, { now: () => NOW }, retention);
  const site = madeUpSite("muc", await known(hub, await keyAt(database, { role: "site", site: "muc" })));
  const pool = open(database);
  const [opened, ended, step] = madeUpFacts(1, 3, NOW);

  // Open the session at the hub first. Its end follows, with a time 300 days ago.
  await site.sends(hub.url, site.push({ to: 1, facts: [opened] }));
  const pastOf = (n: number) => NOW - n * DAY_MS;
  const facts = [
    { ...ended, endedAt: pastOf(300) },
    ...Array.from({ length: 1_990 }, (_, n) => ({ ...step, seq: n + 3, at: pastOf(n) })),
  ];
  const of = { server: "s1", daemon: "siliqd", feature: "F1" };
  const days = [
    ...Array.from({ length: 1_500 }, (_, n) => {
      return { table: "rollups", day: TODAY - n, part: 0, rows: [{ ...of, data: "AA==" }] };
    }),
    ...[10, 300].map((n, id) => {
      const row = { ...ended, id: id + 50, endedAt: pastOf(n), lastSeenAt: pastOf(n) };
      return { table: "sessions", day: TODAY - n, part: 0, rows: [row] };
    }),
  ];
  const push = site.push({ from: 2, to: 1_992, facts, days: days as never, sentAt: NOW });
  expect((await site.sends(hub.url, push)).cursor).toBe(1_992);

  const partitions = await pool`
    SELECT inhparent::regclass::text AS "table", count(*)::int AS count FROM pg_inherits
    WHERE inhparent::regclass::text IN ('steps', 'sessions', 'packed_days') GROUP BY 1`;
  const counts = Object.fromEntries(
    partitions.map(({ table, count }: { table: string; count: number }) => [table, count]),
  );
  // Each day or week has a partition, and one partition takes the rest.
  expect(counts).toEqual({ steps: 31 + 1, packed_days: 21 + 1, sessions: 1 + 1 });
  const [stored] = await pool`
    SELECT (SELECT count(*)::int FROM steps) AS steps, (SELECT count(*)::int FROM packed_days) AS days,
      (SELECT count(*)::int FROM sessions) AS sessions, (SELECT count(*)::int FROM open_sessions) AS open,
      (SELECT count(*)::int FROM refused) AS refused`;
  expect({ ...stored }).toEqual({ steps: 31, days: 141, sessions: 1, open: 0, refused: 0 });
  await pool.close();
});
