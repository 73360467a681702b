import type { EndReason } from "../domain/session.ts";
import type { Store } from "./open.ts";

/** A session that an old log tells of. Times are epoch ms. */
export interface OldSession {
  readonly server: string;
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
  add(sessions: readonly OldSession[]): number;
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
  const known = sqlite.query<{ id: number; end_reason: string | null }, [bigint]>(
    `SELECT id, end_reason FROM imported_sessions JOIN sessions ON sessions.id = session_id WHERE hash = ?`,
  );
  const finish = sqlite.query(
    "UPDATE sessions SET count = $count, last_seen_at = $endedAt, ended_at = $endedAt, end_reason = $endReason WHERE id = $id",
  );
  const mark = sqlite.query("INSERT INTO imported_sessions (session_id, hash) VALUES (?, ?)");
  const insert = sqlite.query(
    `INSERT INTO sessions (id, server_id, daemon, feature, user, host, version, count, handle, started_at, began_at,
       first_seen_at, last_seen_at, ended_at, end_reason)
     VALUES ($id, $server, $daemon, $feature, $user, $host, $version, $count, $handle, $startedAt, $startedAt,
       $startedAt, $endedAt, $endedAt, $endReason)`,
  );

  return {
    observedFrom: (server) =>
      read(
        () =>
          sqlite
            .query<{ first: number | null }, [string]>(
              "SELECT min(first_seen_at) AS first FROM sessions WHERE server_id = ? AND id > 0",
            )
            .get(server)?.first ?? null,
      ),
    add(sessions) {
      let added = 0;
      for (const { data, ordinal, part, ...session } of sessions) {
        const { server, daemon, feature, user, host, startedAt, count, endedAt, endReason } = session;
        const hash = hashOf(
          [server, daemon, feature, user, host ?? "", data ?? "", startedAt, ordinal, part].join("\0"),
        );
        const before = known.get(hash);
        if (before === null) {
          const id = --last;
          insert.run({ id, ...session });
          mark.run(id, hash);
          added++;
          // A longer log may tell the end that a shorter one did not have.
        } else if (before.end_reason === "unobserved")
          finish.run({ id: before.id, count, endedAt, endReason });
      }
      return added;
    },
  };
}

/** 64 bits as SQLite keeps them: among a million sessions the odds of two that share one are 1 in 40 million. */
function hashOf(text: string): bigint {
  return BigInt.asIntN(64, BigInt(Bun.hash(text)));
}
