import type { EndReason } from "../domain/session.ts";
import type { Store } from "./open.ts";

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

export interface SessionImport {
  /** Since when the server's sessions are known from polls; null = they are not. */
  observedFrom(server: string): number | null;
  /** Adds what is not there yet; answers how many were added. In the caller's transaction. */
  add(server: string, sessions: readonly OldSession[]): number;
  /** Nobody else is at work: the write-ahead log may grow, and is written back less often. */
  alone(): void;
}

/**
 * Adds sessions beside a running daemon. That one numbers its sessions upwards in memory, so these take numbers below
 * zero. A hash of what a session is makes the same log twice no second row.
 */
export function createSessionImport({ sqlite, read }: Store): SessionImport {
  const lowest = read(() =>
    sqlite.query<{ id: number | null }, []>("SELECT min(id) AS id FROM sessions").get(),
  );
  let last = Math.min(0, lowest?.id ?? 0);
  // The note comes before what it notes: it says whether that is there yet.
  const note = sqlite.query(
    "INSERT INTO imported_sessions (session_id, hash) VALUES (?, ?) ON CONFLICT (hash) DO NOTHING",
  );
  const known = sqlite.query<{ id: number; end_reason: string | null }, [bigint]>(
    "SELECT id, end_reason FROM imported_sessions JOIN sessions ON sessions.id = session_id WHERE hash = ?",
  );
  const finish = sqlite.query(
    "UPDATE sessions SET count = ?1, last_seen_at = ?2, ended_at = ?2, end_reason = ?3 WHERE id = ?4",
  );
  const insert = sqlite.query(
    `INSERT INTO sessions (id, server_id, daemon, feature, user, host, version, count, handle, started_at, began_at,
       first_seen_at, last_seen_at, ended_at, end_reason)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?10, ?10, ?11, ?11, ?12)`,
  );

  return {
    alone() {
      sqlite.run("PRAGMA wal_autocheckpoint = 16384");
      sqlite.run("PRAGMA cache_size = -131072");
    },
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
      sqlite.run("PRAGMA defer_foreign_keys = ON");
      for (const session of sessions) {
        const { daemon, feature, user, host, version, handle, data } = session;
        const { startedAt, endedAt, endReason, count, ordinal, part } = session;
        const hash = hashOf(
          `${server}\0${daemon}\0${feature}\0${user}\0${host ?? ""}\0${data ?? ""}\0${startedAt}\0${ordinal}\0${part}`,
        );
        if (note.run(last - 1, hash).changes === 0) {
          const before = known.get(hash);
          // A longer log may tell the end that a shorter one did not have.
          if (before?.end_reason === "unobserved") finish.run(count, endedAt, endReason, before.id);
          continue;
        }
        last--;
        added++;
        insert.run(
          ...([last, server, daemon, feature, user, host, version, count] as const),
          ...([handle, startedAt, endedAt, endReason] as const),
        );
      }
      return added;
    },
  };
}

/** 64 bits as SQLite keeps them: among a million sessions the odds of two that share one are 1 in 40 million. */
function hashOf(text: string): bigint {
  return BigInt.asIntN(64, BigInt(Bun.hash(text)));
}
