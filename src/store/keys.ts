import { and, asc, count, desc, eq, gt, isNull, or, sql } from "drizzle-orm";
import {
  isKeyId,
  type KeyRecord,
  keyProblem,
  keyState,
  makeKey,
  type NewKey,
  parseKey,
  printKey,
  type RandomBytes,
  systemRandom,
} from "../domain/keys.ts";
import { type Clock, DAY_MS } from "../domain/time/clock.ts";
import type { Db } from "./database/database-file.ts";
import { apiKeys } from "./database/schema.ts";
import type { Store } from "./open/open.ts";

/** What came of a presented key. `invalid` says nothing else: only the owner of the secret learns that a key has expired or was revoked. */
export type KeyCheck =
  | { readonly outcome: "valid" | "expired" | "revoked"; readonly key: KeyRecord }
  | { readonly outcome: "invalid" };

export type CreateKeyResult =
  | {
      readonly outcome: "created";
      readonly key: KeyRecord;
      /** `lmk_<id>_<secret>`: shown once, here, and stored nowhere. */
      readonly presented: string;
    }
  /** An active key has this name. */
  | { readonly outcome: "name-taken"; readonly key: KeyRecord };

export type Keys = ReturnType<typeof createKeys>;

export interface KeysDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly random?: RandomBytes;
}

type Row = typeof apiKeys.$inferSelect;

/** Compared with when no key has the presented id, so that there is one way through. That an id is known is no secret. */
export const NO_HASH = new Uint8Array(32);

const MAX_KEPT = 1_000;

export function createKeys({ store, clock, random = systemRandom }: KeysDeps) {
  const { state } = store;
  // Prepared SQL: each key in use is written every few seconds.
  const storedUses = store.sqlite.query<{ id: string; at: number }, []>(
    "SELECT key_id AS id, at FROM key_uses",
  );
  const writeUse = store.sqlite.query<null, [string, number]>(
    "INSERT OR REPLACE INTO key_uses VALUES (?, ?)",
  );
  /** When each key was last used, written or not. */
  const uses = new Map(store.read(() => storedUses.all()).map(({ id, at }) => [id, at]));
  const unwritten = new Set<string>();
  const rows = (db: Db) => db.select().from(apiKeys);
  // Prepared, and each request asks for its key, so that what another process did to it holds at once.
  const byId = rows(state.db)
    .where(eq(apiKeys.id, sql.placeholder("id")))
    .prepare();
  const rowOf = (id: string) => state.read(() => byId.get({ id }));

  /** Rows until anything was written to the file: asking whether it was costs a fifth of reading one, which takes 25 µs. */
  const kept = new Map<string, Row>();
  let keptVersion = -1;
  function keptRowOf(id: string): Row | undefined {
    const version = state.dataVersion();
    if (version !== keptVersion || kept.size >= MAX_KEPT) kept.clear();
    keptVersion = version;
    const row = kept.get(id) ?? rowOf(id);
    if (row !== undefined) kept.set(id, row);
    return row;
  }

  /** Changes the table; the version above shows the writes of others alone. */
  const change: typeof state.change = (work) => {
    kept.clear();
    return state.change(work);
  };

  const isNamed = (name: string) => eq(apiKeys.name, name);
  const isActive = () =>
    and(isNull(apiKeys.revokedAt), or(isNull(apiKeys.expiresAt), gt(apiKeys.expiresAt, clock.now())));

  function record({ secretHash: _, ...row }: Row): KeyRecord {
    return { ...row, lastUsedAt: uses.get(row.id) ?? null, state: keyState(row, clock.now()) };
  }

  function get(id: string): KeyRecord | null {
    const row = rowOf(id);
    return row === undefined ? null : record(row);
  }

  return {
    /**
     * Creates a key, with an id and a secret of its own unless they are given. Throws RangeError for what `keyProblem`
     * refuses: callers ask it first.
     */
    create(wanted: NewKey, parts = makeKey(random)): CreateKeyResult {
      const problem = keyProblem(wanted, clock.now());
      if (problem !== null) throw new RangeError(problem.message);
      const secretHash = Buffer.from(hashOf(parts.secret));
      const row: Row = { ...wanted, id: parts.id, secretHash, createdAt: clock.now(), revokedAt: null };
      return change((db): CreateKeyResult => {
        const taken = rows(db)
          .where(and(isNamed(wanted.name), isActive()))
          .get();
        if (taken !== undefined) return { outcome: "name-taken", key: record(taken) };
        db.insert(apiKeys).values(row).run();
        return { outcome: "created", key: record(row), presented: printKey(parts) };
      });
    },

    /** Every key, revoked ones included, oldest first. */
    list: (): readonly KeyRecord[] =>
      state.read(() => rows(state.db).orderBy(asc(apiKeys.createdAt), asc(apiKeys.id)).all()).map(record),

    get,

    /** By id, else by name: the active key of the name, else the newest. */
    find(idOrName: string): KeyRecord | null {
      const byItsId = isKeyId(idOrName) ? get(idOrName) : null;
      if (byItsId !== null) return byItsId;
      const order = [desc(sql`${isActive()}`), desc(apiKeys.createdAt), desc(apiKeys.id)];
      const row = state.read(() =>
        rows(state.db)
          .where(isNamed(idOrName))
          .orderBy(...order)
          .get(),
      );
      return row === undefined ? null : record(row);
    },

    /** Ends a key for good; `gone` when it was revoked before. */
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

    verify(presented: string): KeyCheck {
      const parts = parseKey(presented);
      if (parts === null) return { outcome: "invalid" };
      const row = keptRowOf(parts.id);
      const equal = crypto.timingSafeEqual(hashOf(parts.secret), row?.secretHash ?? NO_HASH);
      if (row === undefined || !equal) return { outcome: "invalid" };
      const key = record(row);
      return { outcome: key.state === "active" ? "valid" : key.state, key };
    },

    /** Notes a use. Kept in memory until `flush`, so that a request costs no write. */
    touch(id: string, at: number): void {
      uses.set(id, laterUse(at, uses.get(id) ?? 0));
      unwritten.add(id);
    },

    /** Writes the noted uses. On a StoreError they stay noted. */
    flush(): void {
      if (unwritten.size === 0) return;
      store.transaction(() => {
        for (const id of unwritten) writeUse.run(id, uses.get(id) ?? 0);
      });
      unwritten.clear();
    },

    /** Number of active keys. */
    count: (): number =>
      state.read(() => state.db.select({ n: count() }).from(apiKeys).where(isActive()).get())?.n ?? 0,
  };
}

/** The later of two uses; a known one that is more than a day ahead was noted by a clock that was wrong. */
export function laterUse(at: number, known: number): number {
  return known > at && known - at <= DAY_MS ? known : at;
}

/** SHA-256, as it is stored of keys and sign-ins. */
export function hashOf(secret: string): Uint8Array {
  const hash = new Uint8Array(NO_HASH.length);
  Bun.SHA256.hash(secret, hash);
  return hash;
}
