import { DAY_MS } from "../../domain/time/clock.ts";
import type { Pool, Sql } from "./connect.ts";
import { LOCK, LOCKS } from "./migrate.ts";

/** Partitioned tables: days per partition, the partition column, and the size of a day in that column. */
export const PARTITIONED = {
  sessions: { days: 7, by: "ended_at", unit: DAY_MS },
  denials: { days: 7, by: "at", unit: DAY_MS },
  steps: { days: 1, by: "at", unit: DAY_MS },
  packed_days: { days: 7, by: "day", unit: 1 },
  events: { days: 1, by: "id", unit: DAY_MS },
} as const;
export type Partitioned = keyof typeof PARTITIONED;

/**
 * Number of past days with partitions. Older rows come from a wrong clock and go to the default partition.
 */
const PAST_DAYS = 3_660;
const AHEAD_DAYS = 30;

const firstDay = (table: Partitioned, day: number) => day - (day % PARTITIONED[table].days);
const nameOf = (table: Partitioned, day: number) => `${table}_${day}`;

export type Partitions = ReturnType<typeof createPartitions>;

export function createPartitions(pool: Pool, today: () => number) {
  const known = new Set<string>();

  function wanted(table: Partitioned, days: Iterable<number>, now: number): Set<number> {
    const first = [...days].filter((day) => day > now - PAST_DAYS && day < now + AHEAD_DAYS);
    return new Set(first.map((day) => firstDay(table, day)).filter((day) => !known.has(nameOf(table, day))));
  }

  /**
   * Creates a partition as a separate table and attaches it; creating it in place would lock out every
   * reader.
   */
  async function make(tx: Sql, table: Partitioned, day: number): Promise<void> {
    const { days, by, unit } = PARTITIONED[table];
    const name = nameOf(table, day);
    const [from, until] = [day * unit, (day + days) * unit];
    const [found] = await tx`SELECT to_regclass(${name}) IS NOT NULL AS is`;
    if (found.is) return;
    await tx.unsafe(
      `CREATE TABLE ${name} (LIKE ${table} INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE)`,
    );
    // A fast clock may have put rows of these days into the default partition. Move them, or the partition
    // cannot be attached.
    const [rest] = await tx`SELECT to_regclass(${`${table}_rest`}) IS NOT NULL AS is`;
    if (rest.is)
      await tx.unsafe(
        `WITH early AS (DELETE FROM ${table}_rest WHERE ${by} >= ${from} AND ${by} < ${until} RETURNING *)
         INSERT INTO ${name} SELECT * FROM early`,
      );
    await tx.unsafe(`ALTER TABLE ${table} ATTACH PARTITION ${name} FOR VALUES FROM (${from}) TO (${until})`);
  }

  return {
    async ensure(needed: Partial<Record<Partitioned, Iterable<number>>>, now = today()): Promise<void> {
      for (const [table, days] of Object.entries(needed) as [Partitioned, Iterable<number>][]) {
        for (const day of wanted(table, days, now)) {
          await pool.begin(async (tx) => {
            await tx`SELECT pg_advisory_xact_lock(${LOCK}::int, ${LOCKS.partitions}::int)`;
            await make(tx, table, day);
          });
          known.add(nameOf(table, day));
        }
      }
    },
    /**
     * Drops the partitions before a day; returns their number. Rows that match the condition `kept` move to
     * the default partition.
     */
    async drop(table: Partitioned, before: number, kept = "false"): Promise<number> {
      const names = await pool`
        SELECT c.relname AS name FROM pg_inherits JOIN pg_class c ON c.oid = inhrelid
        WHERE inhparent = ${table}::regclass`;
      const old = (names as { name: string }[]).filter(({ name }) => {
        const day = Number(name.slice(table.length + 1));
        return Number.isInteger(day) && day + PARTITIONED[table].days <= before;
      });
      for (const { name } of old) {
        await pool.begin(async (tx) => {
          // Give up soon and retry in an hour, because readers queue behind a waiting lock.
          await tx`SET LOCAL lock_timeout = '5s'`;
          await tx.unsafe(
            `CREATE TEMP TABLE kept_rows ON COMMIT DROP AS SELECT * FROM ${name} WHERE ${kept}`,
          );
          await tx.unsafe(`DROP TABLE ${name}`);
          await tx.unsafe(`INSERT INTO ${table} SELECT * FROM kept_rows`);
        });
        known.delete(name);
      }
      return old.length;
    },
  };
}
