import { DAY_MS } from "../../domain/time/clock.ts";
import type { Pool } from "../database/connect.ts";
import { LOCK, LOCKS } from "../database/migrate.ts";
import type { Partitions } from "../database/partitions.ts";

/** Rows that get their ids in one transaction. */
const ROUND_ROWS = 500;

/** How far the stream is, in the eyes of PostgreSQL. */
export interface StreamState {
  /** The highest id that was given: every event up to it can be read. */
  readonly last: number;
  /** The highest id that retention has deleted; 0 = none. */
  readonly deleted: number;
  readonly oldest: number | null;
  /** Events wait to be published. */
  readonly hasNews: boolean;
  /** PostgreSQL's time, epoch ms: one clock for all hubs. */
  readonly now: number;
}

const NOW_MS = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";

export async function streamState(pool: Pool): Promise<StreamState> {
  // EXISTS would read past all that was published since the last vacuum: 3.5 ms a look at 80 events a second.
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
 * Ids are given by one hub at a time, under this lock, which goes with the transaction: by the time another hub has it, all
 * ids given before can be read. Several statements in one message, so that nobody holds the lock while a hub, or the line to
 * it, is dead; each sees what was committed before it began. Whatever changes the row of `stream` takes it.
 */
const LOCKED = `SELECT pg_advisory_xact_lock(${LOCK}, ${LOCKS.publish});`;

// An id is the time by PostgreSQL's clock, or the next number where that was given already. Without JIT: 2,000 rows took 560 ms
// with it, of which it was 530 ms.
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

/** Publishes what waits, in the order in which it was stored. */
export async function publish(pool: Pool, partitions: Partitions, state: StreamState): Promise<void> {
  // Ids may run ahead of the clock: of a busy moment, and behind a clock that was set back.
  const day = Math.floor(Math.max(state.now, state.last) / DAY_MS);
  await partitions.ensure({ events: [day, day + 1] }, day);
  for (let rows = ROUND_ROWS; rows === ROUND_ROWS; ) {
    const [, , told] = (await pool.unsafe(PUBLISH)) as [unknown, unknown, { rows: number }[]];
    rows = told[0]?.rows ?? 0;
  }
}

/** Gives ids to events that are not stored; answers the first of them. */
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
 * Drops the events of the days before `day`, but lines of the audit trail from `auditDay` on (days since 1970). Stores the
 * highest id that was dropped, so that the hub tells a client that resumes below it. Answers how many partitions it dropped.
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
