import type { Denial } from "../domain/denials.ts";
import { deleteStep } from "./database/delete-step.ts";
import { type DenialRow, denialOf } from "./denial-queries.ts";
import type { Store } from "./open/open.ts";

/** Rows of one name that are looked at for one that overlaps. */
const NEAR_ROWS = 4;

/** A denial, and what the writer must know of its row. */
export interface StoredDenial {
  readonly denial: Denial;
  /** Its event was published. */
  readonly told: boolean;
}

export type Denials = ReturnType<typeof createDenials>;

/** Stored denials. All statements are prepared SQL: a busy debug log brings hundreds of rows a second. */
export function createDenials(store: Pick<Store, "sqlite" | "read" | "transaction">) {
  const { sqlite, read } = store;
  const insert = sqlite.query(
    `INSERT INTO denials (server_id, daemon, feature, user, host, at, until, count, attempts, reason, code, outcome, told)
     VALUES ($server, $daemon, $feature, $user, $host, $at, $until, $count, $attempts, $reason, $code, $outcome, $told)
     ON CONFLICT (server_id, feature, user, daemon, at) DO UPDATE SET
       until = excluded.until, count = excluded.count, attempts = excluded.attempts, reason = excluded.reason,
       code = excluded.code, outcome = excluded.outcome, told = max(told, excluded.told)`,
  );
  /** Rows of one name hardly overlap: one of the last few that began before the end is it, or none. */
  const overlapping = sqlite.query<
    { id: number; at: number; until: number; attempts: number; outcome: string },
    [string, string, string, string, number, number]
  >(
    `SELECT * FROM (SELECT id, at, until, attempts, outcome FROM denials
       WHERE server_id = ? AND feature = ? AND user = ? AND daemon = ? AND at <= ?
       ORDER BY at DESC LIMIT ${NEAR_ROWS})
     WHERE until >= ? LIMIT 1`,
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

  const unfinished = sqlite.query<DenialRow & { told: number }, [number]>(
    "SELECT * FROM denials WHERE (told = 0 OR until >= ?) AND feature <> '' ORDER BY at",
  );

  return {
    /** Rows of a SELECT, as `denial-queries.ts` wants them. */
    all: <Row>(sql: string, ...parameters: (string | number | null)[]): Row[] =>
      read(() => sqlite.query<Row, (string | number | null)[]>(sql).all(...parameters)),
    /**
     * Writes rows as they stand now; a row is known by server, daemon, feature, user and first attempt. In the caller's
     * transaction.
     */
    write(list: readonly StoredDenial[]): void {
      for (const each of list) put(each);
    },
    /**
     * Writes a row that came out of an old log, with the times of all its attempts. What is known already is not counted
     * twice: a row that overlaps is widened by the attempts outside of it. Rows that end at `liveFrom` or later belong to
     * a daemon that may be at work, and stay. In the caller's transaction.
     */
    absorb(denial: Denial, times: readonly number[], liveFrom: number): "added" | "widened" | "known" {
      const { server, daemon, feature, user, at, until, outcome } = denial;
      const found = overlapping.get(server, feature ?? "", user ?? "", daemon, until, at);
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
    /** Rows that may still go on, or whose event was not published: those that ended at `since` or later. */
    unfinished: (since: number): StoredDenial[] =>
      read(() => unfinished.all(since)).map((row) => ({ denial: denialOf(row), told: row.told === 1 })),
    retainStep: (before: number): number => deleteStep(store, (limit) => remove.run(before, limit).changes),
  };
}
