import type { Denial } from "../domain/denials.ts";
import { deleteStep } from "./database/transaction.ts";
import { DENIAL_COLUMNS } from "./denial-queries.ts";
import type { Store } from "./open/open.ts";

const NEAR_ROWS = 4;

interface StoredDenial {
  readonly denial: Denial;
  readonly told: boolean;
}

export type Denials = ReturnType<typeof createDenials>;

/** Stored denials. Uses prepared SQL: a busy debug log brings hundreds of rows a second. */
export function createDenials(store: Pick<Store, "sqlite" | "read" | "transaction">) {
  const { sqlite, read } = store;
  const insert = sqlite.query(
    `INSERT INTO denials (server_id, daemon, feature, user, host, at, until, count, attempts, reason, code, outcome, told)
     VALUES ($server, $daemon, $feature, $user, $host, $at, $until, $count, $attempts, $reason, $code, $outcome, $told)
     ON CONFLICT (server_id, feature, user, daemon, at, ifnull(code, 0), ifnull(reason, '')) DO UPDATE SET
       until = excluded.until, count = excluded.count, attempts = excluded.attempts, outcome = excluded.outcome,
       told = max(told, excluded.told)`,
  );
  /**
   * Finds an overlapping row. Rows of one user and feature rarely overlap, so only the last few that began
   * before the end are examined.
   */
  const overlappingRow = sqlite.query<
    { id: number; at: number; until: number; attempts: number; outcome: string },
    [string, string, string, string, number, number | null, string | null, number]
  >(
    `SELECT * FROM (SELECT id, at, until, attempts, outcome FROM denials
       WHERE server_id = ?1 AND feature = ?2 AND user = ?3 AND daemon = ?4 AND at <= ?5
         AND ((code IS ?6 AND reason IS ?7) OR (code IS NULL AND reason IS NULL) OR (?6 IS NULL AND ?7 IS NULL))
       ORDER BY at DESC LIMIT ${NEAR_ROWS})
     WHERE until >= ?8 LIMIT 1`,
  );
  const widen = sqlite.query(
    "UPDATE denials SET at = $at, until = $until, attempts = $attempts, outcome = $outcome WHERE id = $id",
  );
  const remove = sqlite.query<null, [number, number]>(
    "DELETE FROM denials WHERE id IN (SELECT id FROM denials WHERE at < ? ORDER BY at LIMIT ?)",
  );
  const put = ({ denial, told }: StoredDenial) => {
    const { feature, user, ...rest } = denial;
    insert.run({ ...rest, feature: feature ?? "", user: user ?? "", told: told ? 1 : 0 });
  };

  const unfinished = sqlite.query<Denial & { told: number }, [number]>(
    `SELECT ${DENIAL_COLUMNS}, told FROM denials WHERE (told = 0 OR until >= ?) AND denials.feature <> '' ORDER BY at`,
  );

  return {
    all: <Row>(sql: string, ...parameters: (string | number | null)[]): Row[] =>
      read(() => sqlite.query<Row, (string | number | null)[]>(sql).all(...parameters)),
    /**
     * Writes the current state of rows. A row is identified by server, daemon, feature, user, first attempt
     * and reason. Runs in the caller's transaction.
     */
    write(list: readonly StoredDenial[]): void {
      for (const each of list) put(each);
    },
    /**
     * Writes a row from an old log, with the times of all its attempts. If a stored row overlaps, that row
     * is extended instead, so that known attempts are not counted twice. Stored rows that end at `liveFrom`
     * or later may belong to a running daemon and do not change. Runs in the caller's transaction.
     */
    absorb(denial: Denial, times: readonly number[], liveFrom: number): "added" | "widened" | "known" {
      const { server, daemon, feature, user, at, until, reason, code, outcome } = denial;
      const found = overlappingRow.get(server, feature ?? "", user ?? "", daemon, until, code, reason, at);
      if (found === null) {
        put({ denial, told: true });
        return "added";
      }
      if (found.until >= liveFrom) return "known";
      const outside = times.filter((time) => time < found.at || time > found.until).length;
      const better = found.outcome === "denied" ? outcome : found.outcome;
      if (outside === 0 && better === found.outcome) return "known";
      widen.run({
        id: found.id,
        at: Math.min(found.at, at),
        until: Math.max(found.until, until),
        attempts: found.attempts + outside,
        outcome: better,
      });
      return "widened";
    },
    /**
     * Returns rows that ended at `since` or later. They may continue, or their event may not be published
     * yet.
     */
    unfinished: (since: number): StoredDenial[] =>
      read(() => unfinished.all(since)).map(({ told, ...denial }) => ({ denial, told: told === 1 })),
    retainStep: (before: number): number => deleteStep(store, (limit) => remove.run(before, limit).changes),
  };
}

/** A time in which the denials of a server could be seen, epoch ms. */
interface DenialSpan {
  readonly from: number;
  readonly to: number | null;
}

export type DenialSources = ReturnType<typeof createDenialSources>;

/**
 * Sources of each server's denials, and how far they have been read. All writes run in the caller's
 * transaction. Uses prepared SQL, because the cursor is saved with each part of a log.
 */
export function createDenialSources({ sqlite, read }: Pick<Store, "sqlite" | "read">) {
  const cursor = sqlite.query<{ cursor: string }, [string]>(
    "SELECT cursor FROM denial_cursors WHERE server_id = ?",
  );
  const save = sqlite.query(
    `INSERT INTO denial_cursors (server_id, cursor) VALUES (?, ?)
     ON CONFLICT (server_id) DO UPDATE SET cursor = excluded.cursor`,
  );
  const insert = sqlite.query("INSERT INTO denial_spans (server_id, from_at, to_at) VALUES (?, ?, ?)");
  const begin = sqlite.query(
    `INSERT INTO denial_spans (server_id, from_at) SELECT ?1, ?2
     WHERE NOT EXISTS (SELECT 1 FROM denial_spans WHERE server_id = ?1 AND to_at IS NULL)`,
  );
  const end = sqlite.query(
    "UPDATE denial_spans SET to_at = max(from_at, ?2) WHERE server_id = ?1 AND to_at IS NULL",
  );
  const takeTouching = sqlite.query<DenialSpan, [string, number, number]>(
    `DELETE FROM denial_spans WHERE server_id = ? AND from_at <= ? AND (to_at IS NULL OR to_at >= ?)
     RETURNING from_at AS "from", to_at AS "to"`,
  );
  const seen = sqlite.query<{ server: string }, []>(
    "SELECT DISTINCT server_id AS server FROM denial_spans WHERE to_at IS NULL",
  );
  const spans = sqlite.query<DenialSpan, [string]>(
    'SELECT from_at AS "from", to_at AS "to" FROM denial_spans WHERE server_id = ? ORDER BY from_at',
  );

  return {
    cursor: (server: string): unknown => JSON.parse(read(() => cursor.get(server))?.cursor ?? "null"),
    saveCursor: (server: string, value: unknown): void => void save.run(server, JSON.stringify(value)),
    begin: (server: string, at: number): void => void begin.run(server, at),
    end: (server: string, at: number): void => void end.run(server, at),
    cover(server: string, from: number, to: number): void {
      const near = takeTouching.all(server, to, from);
      const first = Math.min(from, ...near.map((span) => span.from));
      const goesOn = near.some((span) => span.to === null);
      insert.run(server, first, goesOn ? null : Math.max(to, ...near.map((span) => span.to ?? to)));
    },
    seen: (): readonly string[] => read(() => seen.all()).map(({ server }) => server),
    spans: (server: string): readonly DenialSpan[] => read(() => spans.all(server)),
  };
}
