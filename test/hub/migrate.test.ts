import { describe, expect, test } from "bun:test";
import { openPool } from "../../src/hub/database/connect.ts";
import { MIGRATIONS, migrate, schemaVersion } from "../../src/hub/database/migrate.ts";
import { createPartitions } from "../../src/hub/database/partitions.ts";
import { hubSecret } from "../../src/hub/secret.ts";
import { usePostgres } from "./describe-hub.ts";
import { HAS_POSTGRES } from "./postgres.ts";

describe.skipIf(!HAS_POSTGRES)("the hub's database", () => {
  const postgres = usePostgres();

  const open = (database: string) => openPool({ database, passwordFile: null, readDatabase: null }, 4);

  test("eight hubs that start at once on an empty database create one schema", async () => {
    const database = await postgres.database();
    const pools = Array.from({ length: 8 }, () => open(database));
    await Promise.all(pools.map((pool) => migrate(pool)));
    expect(await schemaVersion(pools[0] as (typeof pools)[0])).toBe(MIGRATIONS.length);
    await Promise.all(pools.map((pool) => pool.close()));
  });

  test("a database of a newer hub is refused", async () => {
    const pool = open(await postgres.database());
    await migrate(pool);
    await pool`INSERT INTO schema_steps VALUES (${MIGRATIONS.length + 1}, 'later')`;
    expect(migrate(pool)).rejects.toThrow("newer hub");
    await pool.close();
  });

  test("the first schema is migrated: no secret of sites, whole pictures, one table of packed days", async () => {
    const pool = open(await postgres.database());
    const [first] = MIGRATIONS as [(typeof MIGRATIONS)[0]];
    await pool.begin(async (tx) => {
      await tx.unsafe(first.sql);
      await tx`CREATE TABLE schema_steps (step integer PRIMARY KEY, name text NOT NULL)`;
      await tx`INSERT INTO schema_steps VALUES (1, ${first.name})`;
      await tx`INSERT INTO secrets VALUES ('pseudonyms', ${Buffer.alloc(32, 7)})`;
      await tx`INSERT INTO servers (site, server, place, picture) VALUES ('muc', 'eda', 0, 5), ('muc', 'cad', 1, NULL)`;
      await tx`INSERT INTO session_days VALUES ('muc', 20600, ${Buffer.from("x")})`;
    });
    await migrate(pool);
    expect(await pool`SELECT 1 FROM secrets`).toHaveLength(0);
    const own = await hubSecret(pool);
    expect(own.length).toBe(32);
    expect(Buffer.from(own).equals(Buffer.alloc(32, 7))).toBe(false);
    expect(await hubSecret(pool)).toEqual(own);
    const pictures = await pool`SELECT picture::int AS picture FROM servers ORDER BY place`;
    expect(pictures.map(({ picture }: { picture: number | null }) => picture)).toEqual([-1, null]);
    const days = await pool`SELECT kind, day, feature_id::int AS feature FROM packed_days`;
    expect([...days]).toEqual([{ kind: "held", day: 20_600, feature: 0 }]);
    await pool.close();
  });

  test("several hubs create each day's partition once, and drop it after retention", async () => {
    const database = await postgres.database();
    const pools = [open(database), open(database)];
    const [pool] = pools as [(typeof pools)[0]];
    await migrate(pool);
    const today = 20_600;
    const all = pools.map((each) => createPartitions(each, () => today));
    await Promise.all(
      all.map((each) => each.ensure({ packed_days: [20_600, 20_599, 20_000, 9e9], steps: [20_600] })),
    );
    const names = async () =>
      (
        await pool`SELECT relname AS name FROM pg_inherits JOIN pg_class ON oid = inhrelid WHERE inhparent = 'packed_days'::regclass ORDER BY 1`
      ).map(({ name }: { name: string }) => name);
    expect(await names()).toEqual(["packed_days_19999", "packed_days_20594", "packed_days_rest"]);
    expect(await all[0]?.drop("packed_days", 20_006)).toBe(1);
    expect(await names()).toEqual(["packed_days_20594", "packed_days_rest"]);
    await Promise.all(pools.map((each) => each.close()));
  });
});
