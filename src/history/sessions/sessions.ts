import type { Database } from "bun:sqlite";
import { featureKey } from "../../domain/history.ts";
import type { Released, SessionChanges } from "../../domain/polls/track-sessions.ts";
import type { EndReason, Session } from "../../domain/session.ts";
import { DAY_MS } from "../../domain/time/clock.ts";
import { deleteStep } from "../../store/database/transaction.ts";
import { createMarks } from "../../store/events.ts";
import type { Store } from "../../store/open/open.ts";
import { createDirty, packedKeys } from "../buckets.ts";

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
    /** Returns a new id, above all stored ids. The ids of all servers count up together. */
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

/** Adds features from old logs to the known names. Runs in the caller's transaction. */
export function createImportedFeatures({ sqlite }: Pick<Store, "sqlite">) {
  const add = sqlite.query<null, [string, string, string]>(
    "INSERT OR IGNORE INTO history_features (server_id, daemon, name) VALUES (?, ?, ?)",
  );
  return (server: string, named: readonly { daemon: string; feature: string | null }[]): void => {
    // Counters of a whole server have no feature.
    const features = named.filter(({ feature }) => feature !== null && feature !== "");
    const once = new Map(features.map((one) => [featureKey(one.daemon, one.feature ?? ""), one]));
    for (const { daemon, feature } of once.values()) add.run(server, daemon, feature ?? "");
  };
}

/** Times are epoch ms. */
export interface OldSession {
  readonly daemon: string;
  readonly feature: string;
  readonly user: string;
  readonly host: string | null;
  readonly version: string | null;
  readonly handle: string | null;
  /** Part of the session's identity; stored nowhere else. */
  readonly data: string | null;
  /**
   * `ordinal` distinguishes seats that one user took in the same second; `part` distinguishes the parts in
   * which a seat was returned.
   */
  readonly ordinal: number;
  readonly part: number;
  readonly count: number;
  readonly startedAt: number;
  readonly endedAt: number;
  readonly endReason: EndReason;
}

/**
 * Imports sessions next to a running daemon, which numbers its own sessions upwards in memory. Imported
 * sessions get negative ids derived from their content, so that importing the same log again finds their
 * rows.
 */
export function createSessionImport({ sqlite, read }: Store) {
  const finish = sqlite.query<null, [number, number, EndReason, number]>(
    "UPDATE sessions SET count = ?1, last_seen_at = ?2, ended_at = ?2, end_reason = ?3 WHERE id = ?4",
  );
  const firstPoll = sqlite.query<{ first: number | null }, [string]>(
    "SELECT min(from_at) AS first FROM coverage WHERE server_id = ?",
  );
  const firstSeen = sqlite.query<{ first: number | null }, [string]>(
    "SELECT min(first_seen_at) AS first FROM sessions WHERE server_id = ? AND id > 0",
  );
  const dirty = createDirty({ sqlite });
  const noteFeatures = createImportedFeatures({ sqlite });
  const insert = sqlite.query<null, (string | number | null)[]>(
    `INSERT INTO sessions (id, server_id, daemon, feature, user, host, version, count, handle, started_at, began_at,
       first_seen_at, last_seen_at, ended_at, end_reason)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?10, ?10, ?11, ?11, ?12) ON CONFLICT (id) DO NOTHING`,
  );
  const findSame = sqlite.query<{ end_reason: EndReason | null }, (string | number | null)[]>(
    `SELECT end_reason FROM sessions WHERE id = ? AND server_id = ? AND daemon = ? AND feature = ? AND user = ?
       AND host IS ? AND began_at = ?`,
  );
  /** Start of the current server's counts; earlier hours have no rollups to update. */
  let polledFrom = Number.POSITIVE_INFINITY;

  function rollUpAgain({ startedAt, endedAt }: OldSession): void {
    const from = Math.max(startedAt, polledFrom);
    if (from < endedAt) dirty.touch(from, endedAt - 1);
  }

  function addOne(server: string, session: OldSession): boolean {
    const { daemon, feature, user, host, startedAt, endedAt, endReason, count, version, handle } = session;
    const named = [server, daemon, feature, user, host];
    for (let id = numberOf(server, session); ; id++) {
      const row = [id, ...named, version, count, handle, startedAt, endedAt, endReason];
      if (insert.run(...row).changes > 0) {
        rollUpAgain(session);
        return true;
      }
      const same = findSame.get(id, ...named, startedAt);
      if (same === null) continue;
      // A longer log may contain the end of a session whose end a shorter log lacked.
      if (same.end_reason === "unobserved") {
        finish.run(count, endedAt, endReason, id);
        rollUpAgain(session);
      }
      return false;
    }
  }

  return {
    /** Lets the write-ahead log grow further between write-backs. Only without a running daemon. */
    alone(): void {
      sqlite.run("PRAGMA wal_autocheckpoint = 16384");
      sqlite.run("PRAGMA cache_size = -131072");
    },
    /**
     * Leaves all writing back of the write-ahead log to `writeBack`, outside of transactions. For imports
     * next to a running daemon.
     */
    beside: (): void => void sqlite.run("PRAGMA wal_autocheckpoint = 0"),
    /** Writes the write-ahead log back as far as possible without waiting. */
    writeBack: (): void => void sqlite.run("PRAGMA wal_checkpoint(PASSIVE)"),
    observedFrom: (server: string): number | null => read(() => firstSeen.get(server)?.first ?? null),
    /** Adds new sessions and returns their number. Runs in the caller's transaction. */
    add(server: string, sessions: readonly OldSession[]): number {
      polledFrom = firstPoll.get(server)?.first ?? Number.POSITIVE_INFINITY;
      const added = sessions.filter((session) => addOne(server, session)).length;
      noteFeatures(server, sessions);
      return added;
    },
  };
}

const SLOTS = 2 ** 21;
/**
 * Distance between the ids of equal sessions that start in the same second. The ids in between are for the
 * parts of one session, and for other sessions whose own id is taken.
 */
const PARTS = 2 ** 10;
const SECONDS = 2 ** 32;

/**
 * Returns a negative id within the exact range of a double: seconds of 1970 to 2106, then a slot. Equal
 * sessions that start in one second never share a slot (up to 2048 seats in 1024 parts each). Other
 * sessions whose slot is taken use the next free slot.
 */
function numberOf(server: string, session: OldSession): number {
  const { daemon, feature, user, host, data, startedAt, ordinal, part } = session;
  const identity = `${server}\0${daemon}\0${feature}\0${user}\0${host ?? ""}\0${data ?? ""}\0${startedAt}`;
  const hash = BigInt(Bun.hash(identity));
  const second = Math.floor(startedAt / 1000) % SECONDS;
  const slot = (Number(BigInt.asUintN(21, hash)) + ordinal * PARTS + part) % SLOTS;
  return second * SLOTS + slot - Number.MAX_SAFE_INTEGER - 1;
}
