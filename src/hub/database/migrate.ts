import type { Pool, Sql } from "./connect.ts";
import fleet from "./migrations/0001-fleet.sql" with { type: "text" };
import ownSecret from "./migrations/0002-own-secret.sql" with { type: "text" };
import heldDays from "./migrations/0003-held-days.sql" with { type: "text" };

/**
 * Advisory lock namespace: `pg_advisory_lock(LOCK, n)`. The first number separates hubs from other programs.
 */
export const LOCK = 0x4c4d4f4e;
export const LOCKS = { migrate: 1, partitions: 2, publish: 3, retention: 4, alerts: 5 } as const;

const OLDEST_SERVER = 14;

/** Applies missing migrations, each in a transaction and under a lock. Throws an Error that names the fix. */
export async function migrate(pool: Pool): Promise<void> {
  await assertUsable(pool);
  for (const [index, { name, sql }] of MIGRATIONS.entries()) {
    await pool.begin(async (tx) => {
      await tx`SELECT pg_advisory_xact_lock(${LOCK}::int, ${LOCKS.migrate}::int)`;
      await tx.unsafe(
        "CREATE TABLE IF NOT EXISTS schema_steps (step integer PRIMARY KEY, name text NOT NULL)",
      );
      const taken = await schemaVersion(tx);
      if (taken > MIGRATIONS.length)
        throw new Error(
          `The database was written by a newer hub (schema ${taken}, this one knows up to ${MIGRATIONS.length}). Run the newer licmond.`,
        );
      if (taken > index) return;
      await tx.unsafe(sql);
      await tx`INSERT INTO schema_steps (step, name) VALUES (${index + 1}, ${name})`;
    });
  }
}

export async function schemaVersion(sql: Sql): Promise<number> {
  const [row] = await sql`SELECT coalesce(max(step), 0)::int AS version FROM schema_steps`;
  return row.version;
}

export async function assertUsable(pool: Pool): Promise<void> {
  const [server] = await pool`
    SELECT current_setting('server_version_num')::int / 10000 AS version,
      current_setting('server_encoding') AS encoding`;
  if (server.version < OLDEST_SERVER)
    throw new Error(`PostgreSQL ${server.version} is too old for a hub: it needs ${OLDEST_SERVER} or later.`);
  if (server.encoding !== "UTF8")
    throw new Error(
      `The hub's database has the encoding ${server.encoding}. Create one with UTF8: createdb --encoding=UTF8 --template=template0.`,
    );
}

/** In order; the schema version is the number of applied migrations. Released migrations never change. */
export const MIGRATIONS: readonly { readonly name: string; readonly sql: string }[] = [
  { name: "0001-fleet", sql: fleet },
  { name: "0002-own-secret", sql: ownSecret },
  { name: "0003-held-days", sql: heldDays },
];
