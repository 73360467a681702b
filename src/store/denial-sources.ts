import type { Store } from "./open/open.ts";

/** A time in which the denials of a server could be seen, epoch ms. */
export interface DenialSpan {
  readonly from: number;
  /** Null = it goes on. */
  readonly to: number | null;
}

export type DenialSources = ReturnType<typeof createDenialSources>;

/**
 * Where each server's denials come from, as far as it is read. All writes run in the caller's transaction.
 * Prepared SQL: the cursor is saved with each part of a log that is read.
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
    /** What an earlier process left; null = nothing. JSON. */
    cursor: (server: string): unknown => JSON.parse(read(() => cursor.get(server))?.cursor ?? "null"),
    saveCursor: (server: string, value: unknown): void => void save.run(server, JSON.stringify(value)),
    /** From now on denials of the server are seen; nothing when they were already. */
    begin: (server: string, at: number): void => void begin.run(server, at),
    /** No longer. */
    end: (server: string, at: number): void => void end.run(server, at),
    /** Denials of a past time are known after all (an old log was read). */
    cover(server: string, from: number, to: number): void {
      const near = takeTouching.all(server, to, from);
      const first = Math.min(from, ...near.map((span) => span.from));
      const goesOn = near.some((span) => span.to === null);
      insert.run(server, first, goesOn ? null : Math.max(to, ...near.map((span) => span.to ?? to)));
    },
    /** Servers whose denials are being seen, as far as the store knows. */
    seen: (): readonly string[] => read(() => seen.all()).map(({ server }) => server),
    /** By start. */
    spans: (server: string): readonly DenialSpan[] => read(() => spans.all(server)),
  };
}
