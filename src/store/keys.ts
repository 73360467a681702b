import { and, asc, eq, gt, isNull, or, sql } from "drizzle-orm";
import type { NewKey, RandomBytes } from "../domain/keys.ts";
import type { Clock } from "../domain/time/clock.ts";
import type { Db } from "./database/database-file.ts";
import { apiKeys } from "./database/schema.ts";
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

/** API keys in SQLite. */
export function createKeys({ store, clock, random }: KeysDeps) {
  const { state } = store;
  // Prepared SQL: each key in use is written every few seconds.
  const storedUses = store.sqlite.query<{ id: string; at: number }, []>(
    "SELECT key_id AS id, at FROM key_uses",
  );
  const writeUse = store.sqlite.query<null, [string, number]>(
    "INSERT OR REPLACE INTO key_uses VALUES (?, ?)",
  );
  const used = new Map(store.read(() => storedUses.all()).map(({ id, at }) => [id, at]));
  const rows = (db: Db) => db.select().from(apiKeys);
  const inOrder = (db: Db) => rows(db).orderBy(asc(apiKeys.createdAt), asc(apiKeys.id));
  const byId = rows(state.db)
    .where(eq(apiKeys.id, sql.placeholder("id")))
    .prepare();

  /**
   * Rows cached until the file changes, so that a change by another process applies at once. Checking for a change costs
   * a fifth of reading a row, which takes 25 µs.
   */
  const kept = new Map<string, Row>();
  let keptVersion = -1;
  function rowOf(id: string): Row | undefined {
    const version = state.dataVersion();
    if (version !== keptVersion || kept.size >= MAX_KEPT) kept.clear();
    keptVersion = version;
    const row = kept.get(id) ?? state.read(() => byId.get({ id }));
    if (row !== undefined) kept.set(id, row);
    return row;
  }

  /** Changes the table. The data version reveals only changes by other connections, so the cache is cleared. */
  const change: typeof state.change = (work) => {
    kept.clear();
    return state.change(work);
  };

  const book = createKeyBook({
    rows: {
      byId: rowOf,
      all: () => state.read(() => inOrder(state.db).all()),
      usedAt: (id) => used.get(id) ?? null,
    },
    clock,
    ...(random && { random }),
    ofSites: false,
  });
  const { get, list, find, count, verify, touch } = book;
  const isActive = () =>
    and(isNull(apiKeys.revokedAt), or(isNull(apiKeys.expiresAt), gt(apiKeys.expiresAt, clock.now())));

  return {
    get,
    list,
    find,
    count,
    verify,
    touch,

    /** Creates a key. Throws RangeError if `keyProblem` refuses it; callers ask that first. */
    create(wanted: NewKey, parts?: Parameters<typeof book.make>[1]): CreateKeyResult {
      const { row, presented } = book.make(wanted, parts);
      return change((db): CreateKeyResult => {
        const taken = rows(db)
          .where(and(eq(apiKeys.name, wanted.name), isActive()))
          .get();
        if (taken !== undefined) return { outcome: "name-taken", key: book.record(taken) };
        db.insert(apiKeys).values(row).run();
        return { outcome: "created", key: book.record(row), presented };
      });
    },

    /** Revokes a key; `gone` if it was revoked before. */
    revoke(id: string): "revoked" | "gone" | "unknown" {
      const revokedAt = clock.now();
      return change((db) => {
        const row = rows(db).where(eq(apiKeys.id, id)).get();
        if (row === undefined) return "unknown";
        if (row.revokedAt !== null) return "gone";
        db.update(apiKeys).set({ revokedAt }).where(eq(apiKeys.id, id)).run();
        return "revoked";
      });
    },

    /** Writes recorded uses. They stay recorded on a StoreError. */
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
