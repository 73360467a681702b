import type { Database } from "bun:sqlite";
import { IS_LONG, LONG_MS } from "./filters.ts";
import type { KnownFeature } from "./source.ts";

/** Ids that the reader gives to users who stand in no rollup yet: above all stored ones. */
const UNSTORED_USERS = 2 ** 40;

/**
 * Users whose session of a feature (?1 server, ?2 daemon, ?3 name) ended after ?4 and began before ?5: by when it began,
 * as sessions are counted, not by when it was first seen. Many may have ended since: who began in time did so within a
 * day, or was a long one; of those whom the index shows to be seen too late only some may have begun in time.
 */
export const CLOSED_HOLDERS = `SELECT user FROM sessions INDEXED BY sessions_by_feature WHERE server_id = ?1 AND daemon = ?2
    AND feature = ?3 AND ended_at > ?4 AND ended_at <= ?5 + ${LONG_MS} AND (first_seen_at < ?5 OR began_at < ?5)
  UNION ALL SELECT user FROM sessions INDEXED BY sessions_long WHERE server_id = ?1 AND daemon = ?2
    AND feature = ?3 AND ended_at > max(?4, ?5 + ${LONG_MS}) AND began_at < ?5 AND ${IS_LONG}`;

/** Those whose session is open and began before ?4. */
export const OPEN_HOLDERS = `SELECT user FROM sessions WHERE server_id = ?1 AND daemon = ?2 AND feature = ?3
    AND ended_at IS NULL AND began_at < ?4`;

/** Who held seats, by the small ids of the rollups. */
export interface Holders {
  /** Users with a session in [start, end), ascending. */
  users(feature: KnownFeature, start: number, end: number): readonly number[];
}

export function createHolders(sqlite: Database): Holders {
  const closed = sqlite.query<{ user: string }, [string, string, string, number, number]>(
    `SELECT DISTINCT user FROM (${CLOSED_HOLDERS})`,
  );
  const open = sqlite.query<{ user: string }, [string, string, string, number]>(
    `SELECT DISTINCT user FROM (${OPEN_HOLDERS})`,
  );
  const stored = sqlite.query<{ id: number }, [string]>("SELECT id FROM history_users WHERE name = ?");
  const ids = new Map<string, number>();

  function idOf(name: string): number {
    const known = ids.get(name);
    if (known !== undefined) return known;
    const id = stored.get(name)?.id ?? UNSTORED_USERS + ids.size;
    ids.set(name, id);
    return id;
  }

  return {
    users({ server, daemon, feature }, start, end) {
      const found = new Set<number>();
      for (const { user } of closed.iterate(server, daemon, feature, start, end)) found.add(idOf(user));
      for (const { user } of open.iterate(server, daemon, feature, end)) found.add(idOf(user));
      return [...found].sort((a, b) => a - b);
    },
  };
}
