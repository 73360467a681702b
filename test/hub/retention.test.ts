import { expect, test } from "bun:test";
import { interpretConfig } from "../../src/config/load.ts";
import { DAY_MS } from "../../src/domain/time/clock.ts";
import { migrate } from "../../src/hub/database/migrate.ts";
import { createPartitions } from "../../src/hub/database/partitions.ts";
import { createHubRetention } from "../../src/hub/retention.ts";
import { freePort } from "../free-port.ts";
import { recordingLog } from "../store/recording-log.ts";
import { HAS_POSTGRES, startPostgres } from "./postgres.ts";
import { open } from "./rig.ts";

test.skipIf(!HAS_POSTGRES)("drops rows older than the configured retention, and nothing else", async () => {
  await using postgres = await startPostgres(await freePort(), ["fsync=off"]);
  const pool = open(await postgres.database());
  await migrate(pool);
  const today = 20_600;
  const clock = { time: today * DAY_MS, now: () => clock.time };
  const partitions = createPartitions(pool, () => today);
  const days = [today, today - 399, today - 420];
  await partitions.ensure({ sessions: days, packed_days: [today, today - 400, today - 3000] });
  for (const [id, day] of days.entries())
    await pool`
      INSERT INTO sessions VALUES ('muc', 1, ${id}, ${id}, 'eda', 'd', 'f', 'ada', NULL, NULL, 1, NULL, NULL, 0, 0, 0,
        ${day * DAY_MS}, 'checkin')`;
  for (const [kind, day] of [
    ["samples", today - 400],
    ["samples", today - 3000],
    ["rollups", today - 3000],
    ["samples", today],
    ["rollups", today - 400],
    ["held", today - 399],
    ["held", today - 420],
  ] as const)
    await pool`INSERT INTO packed_days VALUES ('muc', ${kind}, ${day}, 1, ${Buffer.from("x")})`;
  const eventDays = [today, today - 31, today - 399, today - 401];
  await partitions.ensure({ events: eventDays });
  for (const day of eventDays)
    for (const [n, [type, source]] of [["alert", null] as const, ["log", "auth"], ["log", "audit"]].entries())
      await pool`
        INSERT INTO events (id, received_at, at, site, type, source, body)
        VALUES (${day * DAY_MS + n}, 0, 0, 'muc', ${type ?? ""}, ${source ?? null}, ${today - day})`;
  const read = interpretConfig(
    '[retention]\nsessions = "400d"\nsamples = "100d"\nrollups = "5y"\n',
    null,
    {},
  );
  if (!read.ok) throw new Error("the config is not read");
  const retention = createHubRetention({
    pool,
    partitions,
    clock,
    keep: () => read.config.retention,
    log: recordingLog(),
  });
  await retention.step();
  await retention.step();
  retention.stop();
  expect((await pool`SELECT id::int FROM sessions ORDER BY id`).map(({ id }: { id: number }) => id)).toEqual([
    0, 1,
  ]);
  const rest = await pool`SELECT kind, ${today}::int - day AS age FROM packed_days ORDER BY kind, age`;
  expect([...rest]).toEqual([
    { kind: "held", age: 399 },
    { kind: "rollups", age: 400 },
    { kind: "samples", age: 0 },
  ]);
  const events = await pool`SELECT type, source, body AS age FROM events ORDER BY id`;
  expect([...events].map(({ type, source, age }) => [type, source, age])).toEqual([
    ["log", "audit", "399"],
    ["log", "audit", "31"],
    ["alert", null, "0"],
    ["log", "auth", "0"],
    ["log", "audit", "0"],
  ]);
  // A year later, retention also deletes the lines that are left.
  clock.time += 370 * DAY_MS;
  await retention.step();
  const left = await pool`SELECT body AS age FROM events WHERE type = 'log' ORDER BY id`;
  expect([...left].map(({ age }) => age)).toEqual(["0"]);
  await pool.close();
});

test.skipIf(!HAS_POSTGRES)("rows of a clock far ahead do not block the partition of their day", async () => {
  await using postgres = await startPostgres(await freePort(), ["fsync=off"]);
  const pool = open(await postgres.database());
  await migrate(pool);
  const day = 20_600;
  const early = createPartitions(pool, () => day - 40);
  await early.ensure({ sessions: [day], denials: [day], steps: [day], packed_days: [day] });
  for (const at of [day * DAY_MS + 1, (day + 300) * DAY_MS]) {
    await pool`INSERT INTO steps VALUES ('muc', 1, ${at}, 1, 1, 0, 0, false)`;
    await pool`
      INSERT INTO sessions VALUES ('muc', 1, ${at}, ${at}, 'eda', 'd', 'f', 'ada', NULL, NULL, 1, NULL, NULL, 0, 0, 0, ${at},
        'checkin')`;
    await pool`INSERT INTO packed_days VALUES ('muc', 'samples', ${Math.floor(at / DAY_MS)}, 1, ${Buffer.from("x")})`;
  }
  const partsOf = async (table: string) => {
    const rows = await pool.unsafe(`SELECT tableoid::regclass::text AS part FROM ${table} ORDER BY 1`);
    return rows.map(({ part }: { part: string }) => part);
  };
  const tables = ["steps", "sessions", "packed_days"];
  for (const table of tables) expect(await partsOf(table)).toEqual([`${table}_rest`, `${table}_rest`]);
  await createPartitions(pool, () => day).ensure({
    sessions: [day],
    denials: [day],
    steps: [day],
    packed_days: [day],
  });
  for (const table of tables)
    expect((await partsOf(table)).filter((part: string) => part === `${table}_rest`).length).toBe(1);
  await pool.close();
});
