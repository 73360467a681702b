import type { Database } from "bun:sqlite";
import type { KnownFeature } from "./read.ts";

/** Ids that the reader gives to users who stand in no rollup yet: above all stored ones. */
const UNSTORED_USERS = 2 ** 40;

/** Who held seats, by the small ids of the rollups. */
export interface Holders {
  /** Users with a session in [start, end), ascending. */
  users(feature: KnownFeature, start: number, end: number): readonly number[];
}

export function createHolders(sqlite: Database): Holders {
  const closed = sqlite.query<{ user: string }, [string, string, string, number, number]>(
    "SELECT DISTINCT user FROM sessions WHERE server_id = ? AND daemon = ? AND feature = ? AND ended_at > ? AND first_seen_at < ?",
  );
  const open = sqlite.query<{ user: string }, [string, string, string, number]>(
    "SELECT DISTINCT user FROM sessions WHERE server_id = ? AND daemon = ? AND feature = ? AND ended_at IS NULL AND first_seen_at < ?",
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
