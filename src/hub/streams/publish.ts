import { DAY_MS } from "../../domain/time/clock.ts";
import type { Pool } from "../database/connect.ts";
import { LOCK, LOCKS } from "../database/migrate.ts";
import type { Partitions } from "../database/partitions.ts";

/** Maximum number of rows that get ids in one transaction. */
const ROUND_ROWS = 500;

export interface StreamState {
  /** The highest assigned id. All events up to this id are readable. */
  readonly last: number;
  /** The highest id that retention has deleted; 0 = none. */
  readonly deleted: number;
  readonly oldest: number | null;
  readonly hasNews: boolean;
  /** PostgreSQL's time in epoch ms, the same for all hubs. */
  readonly now: number;
}

const NOW_MS = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";

export async function streamState(pool: Pool): Promise<StreamState> {
  // `min(place)` uses the index; EXISTS would scan all rows published since the last vacuum: 3.5 ms per
  // look at 80 events a second.
  const [row] = await pool.unsafe(`
    SELECT last, deleted, (SELECT min(id) FROM events) AS oldest, (SELECT min(place) FROM new_events) IS NOT NULL AS news,
      ${NOW_MS} AS now FROM stream`);
  const { last, deleted, oldest, news, now } = row;
  return {
    last: Number(last),
    deleted: Number(deleted),
    oldest: oldest === null ? null : Number(oldest),
    hasNews: news,
    now: Number(now),
  };
}

/**
 * Serializes the assignment of ids. The lock ends with the transaction, so the next hub can read all
 * earlier ids. All statements are sent in one message, so that a hub that dies cannot keep the lock.
 */
const LOCKED = `SELECT pg_advisory_xact_lock(${LOCK}, ${LOCKS.publish});`;

// An id is PostgreSQL's time, or the last id plus one if that is higher. JIT is off, because it took 530 of
// 560 ms for 2,000 rows.
const PUBLISH = `${LOCKED}
  SET LOCAL jit = off;
  WITH taken AS (
    DELETE FROM new_events
    WHERE place <= (SELECT max(place) FROM (SELECT place FROM new_events ORDER BY place LIMIT ${ROUND_ROWS}) AS first)
    RETURNING *
  ), given AS (
    SELECT (SELECT greatest(last, ${NOW_MS} - 1) FROM stream) + sum(number) OVER (ORDER BY place) AS id, taken.* FROM taken
  ), kept AS (
    INSERT INTO events (id, received_at, at, site, type, level, source, server, body, number, packed)
    SELECT id, received_at, at, site, type, level, source, server,
      '{"type":"' || type || '","id":"' || type || '-' || id || '",' || substr(body, 2), number, packed FROM given
    RETURNING id
  ), told AS (
    UPDATE stream SET last = highest FROM (SELECT max(id) AS highest, count(*)::int AS rows FROM kept) AS done
    WHERE rows > 0 RETURNING rows
  )
  SELECT rows, pg_notify('licmond', 'events') FROM told`;

export async function publish(pool: Pool, partitions: Partitions, state: StreamState): Promise<void> {
  // Ids may be ahead of the clock, after a burst or after the clock was set back.
  const day = Math.floor(Math.max(state.now, state.last) / DAY_MS);
  await partitions.ensure({ events: [day, day + 1] }, day);
  for (let rows = ROUND_ROWS; rows === ROUND_ROWS; ) {
    const [, , told] = (await pool.unsafe(PUBLISH)) as [unknown, unknown, { rows: number }[]];
    rows = told[0]?.rows ?? 0;
  }
}

/** Assigns ids to events that are not stored. Returns the first of `count` ids. */
export async function giveIds(pool: Pool, count: number): Promise<number> {
  const [, rows] = (await pool.unsafe(`${LOCKED}
    UPDATE stream SET last = greatest(last, ${NOW_MS} - 1) + ${count} RETURNING last`)) as [
    unknown,
    { last: string }[],
  ];
  return Number(rows[0]?.last) - count + 1;
}

const IS_AUDIT = "type = 'log' AND source = 'audit'";

/**
 * Deletes the events of days before `day`, but audit lines only before `auditDay`. Stores the highest
 * deleted id, so that clients that resume below it learn of the gap.
 */
export async function dropEvents(
  pool: Pool,
  partitions: Partitions,
  day: number,
  auditDay: number,
): Promise<number> {
  await pool.unsafe(`${LOCKED}
    UPDATE stream SET deleted = greatest(deleted, (SELECT max(id) FROM events WHERE id < ${day * DAY_MS}))`);
  await pool.unsafe(`DELETE FROM events_rest WHERE id < ${auditDay * DAY_MS} AND ${IS_AUDIT}`);
  return partitions.drop("events", day, `${IS_AUDIT} AND id >= ${auditDay * DAY_MS}`);
}
