import type { Database } from "bun:sqlite";
import type { Released, SessionChanges } from "../../domain/polls/track-sessions.ts";
import type { Session } from "../../domain/session.ts";
import { DAY_MS } from "../../domain/time/clock.ts";
import { deleteStep } from "../../store/database/transaction.ts";
import { createMarks } from "../../store/events.ts";
import type { Store } from "../../store/open/open.ts";
import { packedKeys } from "../buckets.ts";

export const SESSION_COLUMNS = `id, server_id AS server, daemon, feature, user, host, display, qualifier, version, count, handle,
  started_at AS startedAt, began_at AS beganAt, first_seen_at AS firstSeenAt, last_seen_at AS lastSeenAt,
  ended_at AS endedAt, end_reason AS endReason, doubt_ms AS doubtMs`;

export function createSessions(store: Store) {
  const { sqlite, read } = store;
  // Rows of imported logs have negative ids.
  const newest = sqlite.query<{ id: number }, []>("SELECT max(0, ifnull(max(id), 0)) AS id FROM sessions");
  let last = read(() => newest.get()?.id ?? 0);

  const open = sqlite.query<Session, [string]>(
    `SELECT ${SESSION_COLUMNS} FROM sessions WHERE server_id = ? AND ended_at IS NULL ORDER BY id`,
  );
  // The fields of the session are bound as named parameters.
  const insert = sqlite.query<null, [Required<Session>]>(
    `INSERT INTO sessions (id, server_id, daemon, feature, user, host, display, qualifier, version, count, handle,
       started_at, began_at, first_seen_at, last_seen_at, ended_at, end_reason, doubt_ms)
     VALUES ($id, $server, $daemon, $feature, $user, $host, $display, $qualifier, $version, $count, $handle,
       $startedAt, $beganAt, $firstSeenAt, $lastSeenAt, $endedAt, $endReason, $doubtMs)`,
  );
  const update = sqlite.query<null, [Required<Session>]>(
    `UPDATE sessions SET count = $count, handle = $handle, began_at = $beganAt, first_seen_at = $firstSeenAt,
       last_seen_at = $lastSeenAt, ended_at = $endedAt, end_reason = $endReason, doubt_ms = $doubtMs WHERE id = $id`,
  );

  const remove = sqlite.query<null, [number, number]>(
    "DELETE FROM sessions WHERE id IN (SELECT id FROM sessions WHERE ended_at < ? ORDER BY ended_at LIMIT ?)",
  );

  const marks = createMarks(store);
  const dropDay = sqlite.query<null, [number, number]>(
    "DELETE FROM packed_days WHERE key IN (SELECT key FROM packed_days WHERE key >= ? AND key < ? LIMIT 1)",
  );
  const dropMarks = sqlite.query<null, [number]>("DELETE FROM dirty WHERE kind = 'held' AND at < ?");

  const dropSums = sqlite.query<null, [number, number]>(
    `DELETE FROM held_days WHERE (day, server_id, daemon, feature) IN
       (SELECT day, server_id, daemon, feature FROM held_days WHERE day < ? LIMIT ?)`,
  );

  const lastReading = sqlite.query<{ readAt: number | null }, [string]>(
    "SELECT max(read_at) AS readAt FROM coverage WHERE server_id = ?",
  );
  const openServers = sqlite.query<{ id: string }, []>(
    "SELECT DISTINCT server_id AS id FROM sessions WHERE ended_at IS NULL",
  );
  const released = sqlite.query<Released, [string]>(
    `SELECT daemon, feature, ended_at AS endedAt
     FROM (SELECT (SELECT id FROM sessions WHERE server_id = ?1
         AND daemon = history_features.daemon AND feature = name AND ended_at IS NOT NULL ORDER BY ended_at DESC LIMIT 1) AS last
       FROM history_features WHERE server_id = ?1) JOIN sessions ON id = last
     WHERE id > 0 AND end_reason = 'unobserved' AND ended_at = last_seen_at`,
  );

  return {
    /** Counts up for all servers, above everything stored. */
    nextId: () => ++last,
    open: (serverId: string): Session[] => read(() => open.all(serverId)),
    lastReading: (serverId: string) => read(() => lastReading.get(serverId)?.readAt ?? null),
    openServers: () => read(() => openServers.all().map(({ id }) => id)),
    /** Returns features whose last session ended when the server was removed. */
    released: (serverId: string): Released[] => read(() => released.all(serverId)),
    write({ opened, closed, changed }: SessionChanges): void {
      for (const session of opened) insert.run({ doubtMs: null, ...session });
      for (const session of [...changed, ...closed]) update.run({ doubtMs: null, ...session });
    },
    retainStep: (endedBefore: number): number =>
      deleteStep(store, (limit) => {
        const { changes } = remove.run(endedBefore, limit);
        if (changes > 0) marks.raise("deleted_sessions", endedBefore);
        const first = Math.ceil(marks.get("deleted_sessions") / DAY_MS);
        return (
          changes ||
          dropDay.run(...packedKeys("held", 0, first)).changes ||
          dropSums.run(first, limit).changes ||
          dropMarks.run(first * DAY_MS).changes
        );
      }),
  };
}

/**
 * Examines the ages of a server's newest 500 open sessions at their first sight. Sessions of the first poll
 * are left out, because they may have begun at any time; without other sessions the result is null. `least`
 * is the age of the youngest in ms; a negative age means that the session began later than it was seen.
 * `polls` is the number of polls with new sessions.
 */
export function sessionAges(sqlite: Database, serverId: string) {
  const found = sqlite
    .query<{ least: number | null; polls: number }, [string, string]>(
      `SELECT MIN(first_seen_at - started_at) AS least, COUNT(DISTINCT first_seen_at) AS polls FROM (
         SELECT first_seen_at, started_at FROM sessions
         WHERE server_id = ? AND ended_at IS NULL AND started_at IS NOT NULL AND first_seen_at >
           (SELECT MIN(first_seen_at) FROM sessions WHERE server_id = ? AND ended_at IS NULL)
         ORDER BY id DESC LIMIT 500)`,
    )
    .get(serverId, serverId);
  return found === null || found.least === null ? null : { least: found.least, polls: found.polls };
}
