import type { Database } from "bun:sqlite";
import type { Store } from "./open/open.ts";

/** A time in which the denials of a server could be seen, epoch ms. */
export interface DenialSpan {
  readonly from: number;
  /** Null = it goes on. */
  readonly to: number | null;
}

/** Where each server's denials come from, as far as it is read. All writes run in the caller's transaction. */
export interface DenialSources {
  /** What an earlier process left; null = nothing. JSON. */
  cursor(server: string): unknown;
  saveCursor(server: string, cursor: unknown): void;
  /** From now on denials of the server are seen; nothing when they were already. */
  begin(server: string, at: number): void;
  /** No longer. */
  end(server: string, at: number): void;
  /** Denials of a past time are known after all (an old log was read). */
  cover(server: string, from: number, to: number): void;
  /** Servers whose denials are being seen, as far as the store knows. */
  seen(): readonly string[];
  /** By start. */
  spans(server: string): readonly DenialSpan[];
}

export function createDenialSources(store: Store & { readonly sqlite: Database }): DenialSources {
  const { sqlite, read } = store;
  const cursor = sqlite.query<{ cursor: string }, [string]>(
    "SELECT cursor FROM denial_cursors WHERE server_id = ?",
  );
  const save = sqlite.query(
    `INSERT INTO denial_cursors (server_id, cursor) VALUES (?, ?)
     ON CONFLICT (server_id) DO UPDATE SET cursor = excluded.cursor`,
  );
  const open = sqlite.query<{ id: number; from_at: number }, [string]>(
    "SELECT id, from_at FROM denial_spans WHERE server_id = ? AND to_at IS NULL",
  );
  const insert = sqlite.query("INSERT INTO denial_spans (server_id, from_at, to_at) VALUES (?, ?, ?)");
  const close = sqlite.query("UPDATE denial_spans SET to_at = max(from_at, ?) WHERE id = ?");
  const touching = sqlite.query<
    { id: number; from_at: number; to_at: number | null },
    [string, number, number]
  >(
    "SELECT id, from_at, to_at FROM denial_spans WHERE server_id = ? AND from_at <= ? AND (to_at IS NULL OR to_at >= ?)",
  );
  const remove = sqlite.query("DELETE FROM denial_spans WHERE id = ?");
  const all = sqlite.query<{ from: number; to: number | null }, [string]>(
    'SELECT from_at AS "from", to_at AS "to" FROM denial_spans WHERE server_id = ? ORDER BY from_at',
  );

  return {
    cursor: (server) =>
      read(() => {
        const row = cursor.get(server);
        return row === null ? null : JSON.parse(row.cursor);
      }),
    saveCursor: (server, value) => void save.run(server, JSON.stringify(value)),
    begin(server, at) {
      if (open.get(server) === null) insert.run(server, at, null);
    },
    end(server, at) {
      for (const { id } of open.all(server)) close.run(at, id);
    },
    cover(server, from, to) {
      const near = touching.all(server, to, from);
      for (const { id } of near) remove.run(id);
      const first = Math.min(from, ...near.map(({ from_at }) => from_at));
      const goesOn = near.some(({ to_at }) => to_at === null);
      insert.run(server, first, goesOn ? null : Math.max(to, ...near.map(({ to_at }) => to_at ?? to)));
    },
    seen: () =>
      read(() =>
        sqlite
          .query<{ server: string }, []>(
            "SELECT DISTINCT server_id AS server FROM denial_spans WHERE to_at IS NULL",
          )
          .all(),
      ).map(({ server }) => server),
    spans: (server) => read(() => all.all(server)),
  };
}
