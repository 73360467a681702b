import { DAY_MS } from "../../domain/time/clock.ts";
import type { Pool, Sql } from "./connect.ts";
import { LOCK, LOCKS } from "./migrate.ts";

/** Tables in partitions by time: how many days each has, the column that they are made by, and what a day is in it. */
export const PARTITIONED = {
  sessions: { days: 7, by: "ended_at", unit: DAY_MS },
  denials: { days: 7, by: "at", unit: DAY_MS },
  steps: { days: 1, by: "at", unit: DAY_MS },
  packed_days: { days: 7, by: "day", unit: 1 },
  events: { days: 1, by: "id", unit: DAY_MS },
} as const;
export type Partitioned = keyof typeof PARTITIONED;

/** Days for which partitions are made. What a clock that was wrong put elsewhere lies in the partition of the rest. */
const PAST_DAYS = 3_660;
const AHEAD_DAYS = 30;

/** First day of the partition that has a day. */
const firstDay = (table: Partitioned, day: number) => day - (day % PARTITIONED[table].days);
const nameOf = (table: Partitioned, day: number) => `${table}_${day}`;

export type Partitions = ReturnType<typeof createPartitions>;

/** Makes partitions before rows need them, and drops those that are over. */
export function createPartitions(pool: Pool, today: () => number) {
  /** Those that are known to be there. */
  const known = new Set<string>();

  function wanted(table: Partitioned, days: Iterable<number>, now: number): Set<number> {
    const first = [...days].filter((day) => day > now - PAST_DAYS && day < now + AHEAD_DAYS);
    return new Set(first.map((day) => firstDay(table, day)).filter((day) => !known.has(nameOf(table, day))));
  }

  /** One by one and attached: making them in place would lock every reader of the table out. */
  async function make(tx: Sql, table: Partitioned, day: number): Promise<void> {
    const { days, by, unit } = PARTITIONED[table];
    const name = nameOf(table, day);
    const [from, until] = [day * unit, (day + days) * unit];
    const [found] = await tx`SELECT to_regclass(${name}) IS NOT NULL AS is`;
    if (found.is) return;
    await tx.unsafe(
      `CREATE TABLE ${name} (LIKE ${table} INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE)`,
    );
    // A clock that was ahead brought rows of days that had no partition yet: with them there none can be made.
    const [rest] = await tx`SELECT to_regclass(${`${table}_rest`}) IS NOT NULL AS is`;
    if (rest.is)
      await tx.unsafe(
        `WITH early AS (DELETE FROM ${table}_rest WHERE ${by} >= ${from} AND ${by} < ${until} RETURNING *)
         INSERT INTO ${name} SELECT * FROM early`,
      );
    await tx.unsafe(`ALTER TABLE ${table} ATTACH PARTITION ${name} FOR VALUES FROM (${from}) TO (${until})`);
  }

  return {
    /** Makes what is missing for rows of these days. In transactions of its own, before that of the rows. */
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
     * Drops the partitions of a table that lie before a day as a whole; answers how many. Rows for which `kept` holds (a
     * condition in SQL) go into the partition of the rest.
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
          // Readers wait behind who waits for a lock: it is tried again in an hour.
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
