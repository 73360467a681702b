import type { Database } from "bun:sqlite";

/** How old checkouts were, by the server's clock, when a poll first saw them. */
export interface SessionAges {
  /** The youngest, in ms; negative = it began later than it was seen. */
  readonly least: number;
  /** Polls that saw new ones. */
  readonly polls: number;
}

/** Open sessions that are looked at, the newest. */
const MOST = 500;

/**
 * Ages of a server's open sessions when they were first seen. The first poll's are left out: they may have begun at any
 * time. Null = none was seen since.
 */
export function sessionAges(sqlite: Database, serverId: string): SessionAges | null {
  const found = sqlite
    .query<{ least: number | null; polls: number }, [string, string, number]>(
      `SELECT MIN(first_seen_at - started_at) AS least, COUNT(DISTINCT first_seen_at) AS polls FROM (
         SELECT first_seen_at, started_at FROM sessions
         WHERE server_id = ? AND ended_at IS NULL AND started_at IS NOT NULL AND first_seen_at >
           (SELECT MIN(first_seen_at) FROM sessions WHERE server_id = ? AND ended_at IS NULL)
         ORDER BY id DESC LIMIT ?)`,
    )
    .get(serverId, serverId, MOST);
  return found === null || found.least === null ? null : { least: found.least, polls: found.polls };
}
