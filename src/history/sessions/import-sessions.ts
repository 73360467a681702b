import type { EndReason } from "../../domain/session.ts";
import type { Store } from "../../store/open/open.ts";
import { createOpenBuckets } from "../open-buckets.ts";

/** A feature that an old log tells of. */
interface Named {
  readonly daemon: string;
  readonly feature: string | null;
}

/**
 * Notes features that old logs tell of among those of history, so that one which no poll ever read is known by its name.
 * Runs in the caller's transaction.
 */
export function createImportedFeatures({
  sqlite,
}: Pick<Store, "sqlite">): (server: string, named: readonly Named[]) => void {
  const add = sqlite.query<null, [string, string, string]>(
    `INSERT INTO history_features (server_id, daemon, name) SELECT ?1, ?2, ?3
     WHERE NOT EXISTS (SELECT 1 FROM history_features WHERE server_id = ?1 AND daemon = ?2 AND name = ?3)`,
  );
  return (server, named) => {
    const done = new Set<string>();
    for (const { daemon, feature } of named) {
      const key = `${daemon}\0${feature}`;
      if (done.has(key)) continue;
      done.add(key);
      // Counters of a whole server are of no feature.
      if (feature !== null && feature !== "") add.run(server, daemon, feature);
    }
  };
}

/** A session that an old log tells of. Times are epoch ms. */
export interface OldSession {
  readonly daemon: string;
  readonly feature: string;
  readonly user: string;
  readonly host: string | null;
  readonly version: string | null;
  readonly handle: string | null;
  /** Part of what it is, and kept nowhere else. */
  readonly data: string | null;
  /** What tells seats apart that one user took in one second, and the parts in which a seat came back. */
  readonly ordinal: number;
  readonly part: number;
  readonly count: number;
  readonly startedAt: number;
  readonly endedAt: number;
  readonly endReason: EndReason;
}

interface SessionImport {
  /** Since when the server's sessions are known from polls; null = they are not. */
  observedFrom(server: string): number | null;
  /**
   * Adds what is not there yet; answers how many were added. Hours in which the server was polled are rolled up again,
   * so that they know these users. In the caller's transaction.
   */
  add(server: string, sessions: readonly OldSession[]): number;
  /** Nobody else is at work: the write-ahead log may grow, and is written back less often. */
  alone(): void;
  /** A daemon works here, too: the write-ahead log is written back by {@link writeBack} alone, and in no transaction. */
  beside(): void;
  /** Writes the write-ahead log back as far as it can be, while nobody has to wait for it. */
  writeBack(): void;
}

/**
 * Adds sessions beside a running daemon. That one numbers its sessions upwards in memory, so these take numbers below
 * zero, made of what a session is: the same log finds its rows again and makes no second ones. They begin with the
 * time, so that a log's rows lie side by side.
 */
export function createSessionImport({ sqlite, read }: Store): SessionImport {
  const noted = notedSessions(sqlite);
  const finish = sqlite.query(
    "UPDATE sessions SET count = ?1, last_seen_at = ?2, ended_at = ?2, end_reason = ?3 WHERE id = ?4",
  );
  const firstPoll = sqlite.query<{ first: number | null }, [string]>(
    "SELECT min(from_at) AS first FROM coverage WHERE server_id = ?",
  );
  const open = createOpenBuckets({ sqlite });
  const noteFeatures = createImportedFeatures({ sqlite });
  const insert = sqlite.query(
    `INSERT INTO sessions (id, server_id, daemon, feature, user, host, version, count, handle, started_at, began_at,
       first_seen_at, last_seen_at, ended_at, end_reason)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?10, ?10, ?11, ?11, ?12) ON CONFLICT (id) DO NOTHING`,
  );
  const find = sqlite.query<Found, [number]>(
    "SELECT id, server_id, daemon, feature, user, host, began_at, end_reason FROM sessions WHERE id = ?",
  );
  /** Since when counts of the server at hand are known; before that there is nothing to roll up. */
  let polledFrom = Number.POSITIVE_INFINITY;
  /** A log that was imported before comes as a whole: what is known is looked for first then. */
  let lookFirst = false;

  function put(id: number, server: string, session: OldSession): boolean {
    const { daemon, feature, user, host, version, handle, count, startedAt, endedAt, endReason } = session;
    const { changes } = insert.run(
      ...([id, server, daemon, feature, user, host, version, count] as const),
      ...([handle, startedAt, endedAt, endReason] as const),
    );
    if (changes > 0) rollUpAgain(session);
    return changes > 0;
  }

  function rollUpAgain({ startedAt, endedAt }: OldSession): void {
    const from = Math.max(startedAt, polledFrom);
    if (from < endedAt) open.touch(from, endedAt - 1);
  }

  /** False when it was known. */
  function addOne(server: string, session: OldSession): boolean {
    const known = noted?.(server, session) ?? null;
    if (known !== null) {
      end(known, session);
      return false;
    }
    for (let id = numberOf(server, session); ; id++) {
      if (!lookFirst && put(id, server, session)) return true;
      const found = find.get(id);
      if (found === null) {
        put(id, server, session);
        lookFirst = false;
        return true;
      }
      if (!isSame(found, server, session)) continue;
      lookFirst = true;
      end(found, session);
      return false;
    }
  }

  /** A longer log may tell the end that a shorter one did not have. */
  function end({ id, end_reason }: Pick<Found, "id" | "end_reason">, session: OldSession): void {
    if (end_reason !== "unobserved") return;
    finish.run(session.count, session.endedAt, session.endReason, id);
    rollUpAgain(session);
  }

  return {
    alone() {
      sqlite.run("PRAGMA wal_autocheckpoint = 16384");
      sqlite.run("PRAGMA cache_size = -131072");
    },
    beside: () => void sqlite.run("PRAGMA wal_autocheckpoint = 0"),
    writeBack: () => void sqlite.run("PRAGMA wal_checkpoint(PASSIVE)"),
    observedFrom: (server) =>
      read(
        () =>
          sqlite
            .query<{ first: number | null }, [string]>(
              "SELECT min(first_seen_at) AS first FROM sessions WHERE server_id = ? AND id > 0",
            )
            .get(server)?.first ?? null,
      ),
    add(server, sessions) {
      let added = 0;
      polledFrom = firstPoll.get(server)?.first ?? Number.POSITIVE_INFINITY;
      for (const session of sessions) if (addOne(server, session)) added++;
      noteFeatures(server, sessions);
      return added;
    },
  };
}

interface Found {
  readonly id: number;
  readonly server_id: string;
  readonly daemon: string;
  readonly feature: string;
  readonly user: string;
  readonly host: string | null;
  readonly began_at: number;
  readonly end_reason: string | null;
}

function isSame(found: Found, server: string, session: OldSession): boolean {
  return (
    found.began_at === session.startedAt &&
    found.user === session.user &&
    found.feature === session.feature &&
    found.host === session.host &&
    found.daemon === session.daemon &&
    found.server_id === server
  );
}

/** Sessions of one second have so many numbers. */
const SLOTS = 2 ** 21;
/** Seats of one name in one second have numbers at this distance; their parts, and strangers, find room between. */
const PARTS = 2 ** 10;
const SECONDS = 2 ** 32;

/**
 * Below zero and within what a double holds exactly: seconds of 1970 to 2106, then a slot. Seats of one name in one
 * second never share a slot (up to 2048 seats in 1024 parts each); strangers that do move on to the next free one.
 */
function numberOf(server: string, session: OldSession): number {
  const { startedAt, ordinal, part } = session;
  const hash = BigInt(Bun.hash(identityOf(server, session)));
  const second = Math.floor(startedAt / 1000) % SECONDS;
  const slot = (Number(BigInt.asUintN(21, hash)) + ordinal * PARTS + part) % SLOTS;
  return second * SLOTS + slot - Number.MAX_SAFE_INTEGER - 1;
}

/** What a session is, without what tells it from its like. */
function identityOf(server: string, { daemon, feature, user, host, data, startedAt }: OldSession): string {
  return `${server}\0${daemon}\0${feature}\0${user}\0${host ?? ""}\0${data ?? ""}\0${startedAt}`;
}

/** Rows whose numbers say nothing: earlier versions noted a hash of what they are beside them. Null = there are none. */
function notedSessions(sqlite: Store["sqlite"]) {
  if (sqlite.query("SELECT 1 FROM imported_sessions LIMIT 1").get() === null) return null;
  const find = sqlite.query<Pick<Found, "id" | "end_reason">, [bigint]>(
    "SELECT id, end_reason FROM imported_sessions JOIN sessions ON sessions.id = session_id WHERE hash = ?",
  );
  return (server: string, session: OldSession) => {
    const text = `${identityOf(server, session)}\0${session.ordinal}\0${session.part}`;
    return find.get(BigInt.asIntN(64, BigInt(Bun.hash(text))));
  };
}
