import { type SortBy, sqlNullsLast } from "../domain/order.ts";
import { type AvailabilityRecord, type Outage, type OutageRecord, reasonOf } from "../domain/outages.ts";
import type { ServerPicture } from "../domain/picture.ts";
import { percentOf, shareOf } from "../domain/stats/figures.ts";
import { iso } from "../domain/time/clock.ts";
import type { ServerStatus } from "../domain/words.ts";
import { allOf, oneOf, type Rows } from "../store/conditions.ts";
import { deleteStep } from "../store/database/transaction.ts";
import type { Store } from "../store/open/open.ts";

interface Stretch {
  readonly from: number;
  readonly status: ServerStatus;
  readonly readAt: number;
  readonly until: number;
  readonly nextBy: number;
}

/**
 * Records the status found by each poll. Like coverage, a status holds until the next poll ends if the next
 * poll is in time (within 2 × interval + timeout, or one interval after a poll postponed by back-off), else
 * for one interval. If the clock was set back, nothing is written until it passes the recorded time again.
 */
export function createStatusRecorder({ sqlite }: Pick<Store, "sqlite">) {
  const current = new Map<string, Pick<Stretch, "from" | "status">>();
  const newest = sqlite.query<Stretch, [string]>(
    `SELECT from_at AS "from", status, read_at AS readAt, until_at AS until, next_by AS nextBy FROM server_statuses
     WHERE server_id = ? ORDER BY from_at DESC LIMIT 1`,
  );
  const extend = sqlite.query<null, [number, number, number, string, number]>(
    "UPDATE server_statuses SET read_at = ?, until_at = ?, next_by = ? WHERE server_id = ? AND from_at = ?",
  );
  const begin = sqlite.query<null, [string, number, ServerStatus, string | null, number, number, number]>(
    `INSERT INTO server_statuses (server_id, from_at, status, reason, read_at, until_at, next_by)
     VALUES (?, ?, ?, ?, ?, ?, ?)`,
  );
  const write = (picture: ServerPicture): void => {
    const { server, status, lastPollAt: at, nextPollAt } = picture;
    if (at === null) return;
    const { id, intervalMs, timeoutMs } = server;
    const last = newest.get(id);
    if (last !== null && at <= last.readAt) return;
    const until = at + intervalMs;
    const nextBy = Math.max(until, nextPollAt ?? 0) + intervalMs + timeoutMs;
    const isInTime = last !== null && at <= last.nextBy;
    const goesOn = isInTime && last.status === status;
    current.set(id, { from: goesOn ? last.from : at, status });
    if (goesOn) return void extend.run(at, until, nextBy, id, last.from);
    if (last !== null) {
      const end = isInTime ? at : Math.min(last.until, at);
      extend.run(last.readAt, end, end, id, last.from);
    }
    begin.run(id, at, status, reasonOf(picture), at, until, nextBy);
  };
  return {
    write,
    since(server: string, status: ServerStatus): number | null {
      const found = current.get(server);
      return found?.status === status ? found.from : null;
    },
  };
}

export function createStatusRetention(store: Store): (before: number) => number {
  const servers = store.sqlite.query<{ id: string }, []>("SELECT id FROM servers");
  const remove = store.sqlite.query<null, [string, number, number]>(
    `DELETE FROM server_statuses WHERE server_id = ?1 AND from_at IN (SELECT from_at FROM server_statuses
       WHERE server_id = ?1 AND from_at < ?2 AND max(until_at, next_by) <= ?2 ORDER BY from_at LIMIT ?3)`,
  );
  return (before) =>
    deleteStep(store, (limit) => {
      let rows = 0;
      for (const { id } of servers.all()) if (rows < limit) rows += remove.run(id, before, limit).changes;
      return rows;
    });
}

export interface OutageQuery {
  readonly start: number;
  readonly end: number;
  readonly servers: readonly string[] | null;
  readonly statuses: readonly Outage["status"][] | null;
  readonly sort: SortBy<Exclude<keyof OutageRecord, "site">> | null;
  readonly limit: number;
  readonly offset: number;
}

/**
 * An outage has no end while the next poll may still come in time. `?1` is now; `?2` and `?3` are the
 * range.
 */
const UNTIL = "iif(next_by > ?1, NULL, until_at)";
const UNTIL_NOW = `ifnull(${UNTIL}, ?1)`;
const COLUMNS: Readonly<Record<Exclude<keyof OutageRecord, "site">, string>> = {
  server: "server_id",
  status: "status",
  reason: "reason",
  startedAt: "from_at",
  endedAt: UNTIL,
  durationSeconds: `${UNTIL_NOW} - from_at`,
};

type StatusRows = Rows & { readonly now: number };

export function outagesOf(
  { all, now }: StatusRows,
  { start, end, servers, statuses, sort, limit, offset }: OutageQuery,
) {
  const { sql, values } = allOf([
    {
      sql: `status <> 'up' AND from_at <= ?1 AND from_at < ?3 AND (from_at >= ?2 OR ${UNTIL_NOW} > ?2)`,
      values: [start, end],
    },
    oneOf("server_id", servers),
    oneOf("status", statuses),
  ]);
  const by = sort === null ? "" : `${COLUMNS[sort.field]} ${sqlNullsLast(sort.descending)}, `;
  const from = `FROM server_statuses WHERE ${sql}`;
  const [count] = all<{ total: number }>(`SELECT count(*) AS total ${from}`, now, ...values);
  const rows = all<Outage>(
    `SELECT server_id AS server, status, reason, from_at AS "from", ${UNTIL} AS until ${from}
         ORDER BY ${by}from_at DESC, server_id LIMIT ? OFFSET ?`,
    now,
    ...values,
    limit,
    offset,
  );
  return { rows, total: count?.total ?? 0 };
}

export function statusMs(
  { all, now }: StatusRows,
  server: string,
  { start, end }: Pick<OutageQuery, "start" | "end">,
) {
  const rows = all<{ status: ServerStatus; ms: number }>(
    `SELECT status, sum(min(until_at, ?3) - max(from_at, ?2)) AS ms FROM server_statuses
         WHERE server_id = ?1 AND from_at < ?3 AND until_at > ?2 AND from_at >=
           ifnull((SELECT max(from_at) FROM server_statuses WHERE server_id = ?1 AND from_at <= ?2), ?2)
         GROUP BY status`,
    server,
    start,
    Math.min(end, now),
  );
  const { up = 0, degraded = 0, down = 0 } = Object.fromEntries(rows.map(({ status, ms }) => [status, ms]));
  return { up, degraded, down };
}

export function availabilityOf(
  read: StatusRows,
  server: string,
  range: Pick<OutageQuery, "start" | "end">,
): AvailabilityRecord {
  const { up, degraded, down } = statusMs(read, server, range);
  const covered = up + degraded + down;
  const share = covered > 0 ? (up + degraded) / covered : null;
  const coverage = shareOf(covered, range.end - range.start);
  return { server, availability: percentOf(share), coverage, gaps: gapsOf(read, server, range) };
}

function gapsOf(
  { all, now }: StatusRows,
  server: string,
  { start, end }: Pick<OutageQuery, "start" | "end">,
): AvailabilityRecord["gaps"] {
  const last = Math.min(end, now);
  const known = all<{ from: number; until: number }>(
    `SELECT from_at AS "from", ${UNTIL_NOW} AS until FROM server_statuses
     WHERE server_id = ?2 AND from_at < ?4 AND ${UNTIL_NOW} > ?3 ORDER BY from_at`,
    now,
    server,
    start,
    last,
  );
  const gaps: AvailabilityRecord["gaps"] = [];
  let seen = start;
  for (const { from, until } of [...known, { from: last, until: last }]) {
    if (from > seen) gaps.push({ start: iso(seen), end: iso(from) });
    seen = Math.max(seen, until);
  }
  return gaps;
}
