import type { Database } from "bun:sqlite";
import type { NewKey, RandomBytes } from "../domain/keys.ts";
import type { Clock } from "../domain/time/clock.ts";
import { apiKeys } from "./database/schema.ts";
import { tableOf } from "./database/table.ts";
import { type CreateKeyResult, createKeyBook } from "./key-book.ts";
import type { Store } from "./open/open.ts";

export type Keys = ReturnType<typeof createKeys>;

export interface KeysDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly random?: RandomBytes;
}

type Row = typeof apiKeys.$inferSelect;

const MAX_KEPT = 1_000;

export function createKeys({ store, clock, random }: KeysDeps) {
  const { state } = store;
  const storedUses = store.sqlite.query<{ id: string; at: number }, []>(
    "SELECT key_id AS id, at FROM key_uses",
  );
  const writeUse = store.sqlite.query<null, [string, number]>(
    "INSERT OR REPLACE INTO key_uses VALUES (?, ?)",
  );
  const used = new Map(store.read(() => storedUses.all()).map(({ id, at }) => [id, at]));
  const { columns, into, row: toRow, values } = tableOf(apiKeys);
  const first = (
    sqlite: Database,
    condition: string,
    ...parameters: (string | number)[]
  ): Row | undefined => {
    const found = sqlite.query(`SELECT ${columns} FROM api_keys WHERE ${condition}`).get(...parameters);
    return found === null ? undefined : toRow(found);
  };
  const all = state.sqlite.query(`SELECT ${columns} FROM api_keys ORDER BY created_at, id`);

  /**
   * Cached rows, dropped when the file changes, so that a change by another process applies at once.
   * Checking for a change takes 5 µs; reading a row takes 25 µs.
   */
  const kept = new Map<string, Row>();
  let keptVersion = -1;
  function rowOf(id: string): Row | undefined {
    const version = state.dataVersion();
    if (version !== keptVersion || kept.size >= MAX_KEPT) kept.clear();
    keptVersion = version;
    const row = kept.get(id) ?? state.read(() => first(state.sqlite, "id = ?", id));
    if (row !== undefined) kept.set(id, row);
    return row;
  }

  /**
   * Changes the table. Clears the cache, because the data version reveals only changes by other
   * connections.
   */
  const change: typeof state.change = (work) => {
    kept.clear();
    return state.change(work);
  };

  const book = createKeyBook({
    rows: {
      byId: rowOf,
      all: () => state.read(() => all.all()).map(toRow),
      usedAt: (id) => used.get(id) ?? null,
    },
    clock,
    ...(random && { random }),
    ofSites: false,
  });
  const { get, list, find, count, verify, touch } = book;
  const isActive = "revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?)";

  return {
    get,
    list,
    find,
    count,
    verify,
    touch,

    /**
     * Creates a key. Throws RangeError if `keyProblem` refuses it, so callers must ask `keyProblem` first.
     */
    create(wanted: NewKey, parts?: Parameters<typeof book.make>[1]): CreateKeyResult {
      const { row, presented } = book.make(wanted, parts);
      const now = clock.now();
      return change((sqlite): CreateKeyResult => {
        const taken = first(sqlite, `name = ? AND ${isActive}`, wanted.name, now);
        if (taken !== undefined) return { outcome: "name-taken", key: book.record(taken) };
        sqlite.query(`INSERT ${into}`).run(values(row));
        return { outcome: "created", key: book.record(row), presented };
      });
    },

    revoke(id: string): "revoked" | "gone" | "unknown" {
      const revokedAt = clock.now();
      return change((sqlite) => {
        const row = first(sqlite, "id = ?", id);
        if (row === undefined) return "unknown";
        if (row.revokedAt !== null) return "gone";
        sqlite.run("UPDATE api_keys SET revoked_at = ? WHERE id = ?", [revokedAt, id]);
        return "revoked";
      });
    },

    flush(): void {
      const noted = book.unwritten();
      if (noted.length === 0) return;
      store.transaction(() => {
        for (const [id, at] of noted) writeUse.run(id, at);
      });
      for (const [id, at] of noted) used.set(id, at);
      book.written(noted);
    },
  };
}
