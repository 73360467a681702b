import type { Database } from "bun:sqlite";
import { and, asc, eq, isNull, sql } from "drizzle-orm";
import type { Released, SessionChanges } from "../../domain/polls/track-sessions.ts";
import type { Session } from "../../domain/session.ts";
import { DAY_MS } from "../../domain/time/time.ts";
import { placeholdersOf, sessions } from "../../store/database/schema.ts";
import { deleteStep } from "../../store/database/transaction.ts";
import { createMarks } from "../../store/events.ts";
import type { Store } from "../../store/open/open.ts";

/** What polls change of a session that is stored. */
const CHANGING = ["count", "handle", "beganAt", "firstSeenAt", "lastSeenAt", "endedAt", "endReason"] as const;

export function createSessions(store: Store) {
  const { db, read } = store;
  const newest = read(() =>
    db
      .select({ id: sql<number | null>`max(${sessions.id})` })
      .from(sessions)
      .get(),
  );
  // Rows of imported logs have numbers below zero.
  let last = Math.max(0, newest?.id ?? 0);

  const insert = db.insert(sessions).values(placeholdersOf(sessions)).prepare();
  const update = db
    .update(sessions)
    .set(Object.fromEntries(CHANGING.map((name) => [name, sql`${sql.placeholder(name)}`])))
    .where(eq(sessions.id, sql.placeholder("id")))
    .prepare();

  const remove = store.sqlite.query<null, [number, number]>(
    "DELETE FROM sessions WHERE id IN (SELECT id FROM sessions WHERE ended_at < ? ORDER BY ended_at LIMIT ?)",
  );

  const marks = createMarks(store);
  const dropDay = store.sqlite.query<null, [number]>(
    "DELETE FROM session_days WHERE day IN (SELECT day FROM session_days WHERE day < ? ORDER BY day LIMIT 1)",
  );

  const dropSums = store.sqlite.query<null, [number, number]>(
    `DELETE FROM held_days WHERE (day, server_id, daemon, feature) IN
       (SELECT day, server_id, daemon, feature FROM held_days WHERE day < ? LIMIT ?)`,
  );

  const lastReading = store.sqlite.query<{ readAt: number | null }, [string]>(
    "SELECT max(read_at) AS readAt FROM coverage WHERE server_id = ?",
  );
  const openServers = store.sqlite.query<{ id: string }, []>(
    "SELECT DISTINCT server_id AS id FROM sessions WHERE ended_at IS NULL",
  );
  const released = store.sqlite.query<Released, [string]>(
    `SELECT daemon, feature, ended_at AS endedAt
     FROM (SELECT (SELECT id FROM sessions WHERE server_id = ?1
         AND daemon = history_features.daemon AND feature = name AND ended_at IS NOT NULL ORDER BY ended_at DESC LIMIT 1) AS last
       FROM history_features WHERE server_id = ?1) JOIN sessions ON id = last
     WHERE id > 0 AND end_reason = 'unobserved' AND ended_at = last_seen_at`,
  );

  return {
    /** Ids for new sessions: one counter for all, above everything stored. */
    nextId: () => ++last,
    /** What an earlier process left open, in the order of their ids. */
    open: (serverId: string): Session[] =>
      read(() =>
        db
          .select()
          .from(sessions)
          .where(and(eq(sessions.serverId, serverId), isNull(sessions.endedAt)))
          .orderBy(asc(sessions.id))
          .all(),
      ).map(({ serverId: server, ...row }) => ({ ...row, server })),
    /** When a server was read last, epoch ms. */
    lastReading: (serverId: string) => read(() => lastReading.get(serverId)?.readAt ?? null),
    /** Servers with open sessions. */
    openServers: () => read(() => openServers.all().map(({ id }) => id)),
    /** Features of a server whose last session was ended with the server's removal. */
    released: (serverId: string): Released[] => read(() => released.all(serverId)),
    /** Writes what a poll changed; runs in the caller's transaction. */
    write({ opened, closed, changed }: SessionChanges): void {
      for (const { server: serverId, ...session } of opened) insert.run({ ...session, serverId });
      for (const session of [...changed, ...closed]) update.run({ ...session });
    },
    /** Deletes one step of the sessions that ended before an instant, and notes it; answers how many rows. */
    retainStep: (endedBefore: number): number =>
      deleteStep(store, (limit) => {
        const { changes } = remove.run(endedBefore, limit);
        if (changes > 0) marks.raise("deleted_sessions", endedBefore);
        const first = Math.ceil(marks.get("deleted_sessions") / DAY_MS);
        return changes || dropDay.run(first).changes || dropSums.run(first, limit).changes;
      }),
  };
}

/**
 * Ages of a server's newest 500 open sessions when they were first seen. The first poll's are left out: they may have begun at any
 * time. Null = none was seen since. `least` is the youngest, in ms; negative = it began later than it was seen. `polls` is how
 * many polls saw new ones.
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
