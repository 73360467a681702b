import { timingSafeEqual } from "node:crypto";
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
import type { Clock } from "../domain/time/clock.ts";
import type { Db } from "./database/database-file.ts";
import { apiKeys, keyUses } from "./database/schema.ts";
import type { Store } from "./open/open.ts";

/** What came of a presented key. `invalid` tells nothing: expired and revoked are told to who has the secret. */
export type KeyCheck =
  | { readonly outcome: "valid" | "expired" | "revoked"; readonly key: KeyRecord }
  | { readonly outcome: "invalid" };

export type CreateKeyResult =
  | {
      readonly outcome: "created";
      readonly key: KeyRecord;
      /** `lmk_<id>_<secret>`: told once, here, and stored nowhere. */
      readonly presented: string;
    }
  /** An active key has this name. */
  | { readonly outcome: "name-taken"; readonly key: KeyRecord };

export interface Keys {
  /** Throws RangeError when `keyProblem` has something to say of it: that is the caller's to ask first. */
  create(wanted: NewKey): CreateKeyResult;
  /** Every key, revoked ones included, oldest first. */
  list(): readonly KeyRecord[];
  get(id: string): KeyRecord | null;
  /** By id, else by name: the active key of the name, else the newest. */
  find(idOrName: string): KeyRecord | null;
  /** Ends a key for good; `gone` when it was revoked before. */
  revoke(id: string): "revoked" | "gone" | "unknown";
  /** Asks the database each time whether another process wrote to it, so that what it did to a key holds at once. */
  verify(presented: string): KeyCheck;
  /** Notes a use. Kept in memory until `flush`, so that a request costs no write. */
  touch(id: string, at: number): void;
  /** Writes the noted uses. On a StoreError they stay noted. */
  flush(): void;
  /** Number of active keys. */
  count(): number;
}

export interface KeysDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly random?: RandomBytes;
}

type Row = typeof apiKeys.$inferSelect;

const DAY_MS = 86_400_000;
/** Keys kept in memory, at most: so many are in use at no site. */
const MAX_KEPT = 10_000;

/** Compared with when no key has the presented id, so that there is one way through. That an id is known is no secret. */
const NO_HASH = new Uint8Array(32);

export function createKeys({ store, clock, random = systemRandom }: KeysDeps): Keys {
  const { state } = store;
  /** When each key was last used, written or not. */
  const uses = new Map(
    store.read(() => store.db.select().from(keyUses).all()).map(({ keyId, at }) => [keyId, at]),
  );
  const unwritten = new Set<string>();
  const byId = state.db
    .select()
    .from(apiKeys)
    .where(eq(apiKeys.id, sql.placeholder("id")))
    .prepare();
  const writeUse = store.db
    .insert(keyUses)
    .values({ keyId: sql.placeholder("id"), at: sql.placeholder("at") })
    .onConflictDoUpdate({ target: keyUses.keyId, set: { at: sql`excluded.at` } })
    .prepare();

  const isActive = () =>
    and(isNull(apiKeys.revokedAt), or(isNull(apiKeys.expiresAt), gt(apiKeys.expiresAt, clock.now())));
  const rowOf = (id: string) => state.read(() => byId.get({ id }));

  // A row is read again when another connection has written anything, which costs a quarter of reading the row, and
  // when this one has written to the table.
  const kept = new Map<string, Row>();
  let keptVersion = -1;
  function keptRowOf(id: string): Row | undefined {
    const version = state.dataVersion();
    if (version !== keptVersion || kept.size >= MAX_KEPT) kept.clear();
    keptVersion = version;
    const known = kept.get(id);
    if (known !== undefined) return known;
    const row = rowOf(id);
    if (row !== undefined) kept.set(id, row);
    return row;
  }

  function record({ secretHash: _, ...row }: Row): KeyRecord {
    return { ...row, lastUsedAt: uses.get(row.id) ?? null, state: keyState(row, clock.now()) };
  }

  function get(id: string): KeyRecord | null {
    const row = rowOf(id);
    return row === undefined ? null : record(row);
  }

  const activeNamed = (db: Db, name: string) =>
    db
      .select()
      .from(apiKeys)
      .where(and(eq(apiKeys.name, name), isActive()))
      .get();

  function flush(): void {
    if (unwritten.size === 0) return;
    const batch = [...unwritten].map((id) => ({ id, at: uses.get(id) ?? 0 }));
    store.transaction(({ after }) => {
      for (const use of batch) writeUse.run(use);
      after(() => {
        for (const { id, at } of batch) if (uses.get(id) === at) unwritten.delete(id);
      });
    });
  }
  store.beforeClose(flush);

  return {
    create(wanted) {
      const problem = keyProblem(wanted, clock.now());
      if (problem !== null) throw new RangeError(problem.message);
      const parts = makeKey(random);
      const row: Row = {
        id: parts.id,
        name: wanted.name,
        role: wanted.role,
        secretHash: Buffer.from(hashOf(parts.secret)),
        anonymize: wanted.anonymize,
        createdAt: clock.now(),
        expiresAt: wanted.expiresAt,
        revokedAt: null,
        dailyQuota: wanted.dailyQuota,
        monthlyQuota: wanted.monthlyQuota,
        requestsPerMinute: wanted.requestsPerMinute,
      };
      return state.change((db): CreateKeyResult => {
        const taken = activeNamed(db, wanted.name);
        if (taken !== undefined) return { outcome: "name-taken", key: record(taken) };
        db.insert(apiKeys).values(row).run();
        return { outcome: "created", key: record(row), presented: printKey(parts) };
      });
    },

    list: () =>
      state.read(() =>
        state.db.select().from(apiKeys).orderBy(asc(apiKeys.createdAt), asc(apiKeys.id)).all().map(record),
      ),

    get,

    find(idOrName) {
      const byItsId = isKeyId(idOrName) ? get(idOrName) : null;
      if (byItsId !== null) return byItsId;
      const newest = () =>
        state.read(() =>
          state.db
            .select()
            .from(apiKeys)
            .where(eq(apiKeys.name, idOrName))
            .orderBy(desc(apiKeys.createdAt), desc(apiKeys.id))
            .limit(1)
            .get(),
        );
      const row = state.read(() => activeNamed(state.db, idOrName)) ?? newest();
      return row === undefined ? null : record(row);
    },

    revoke(id) {
      const revokedAt = clock.now();
      return state.change((db) => {
        const row = db.select().from(apiKeys).where(eq(apiKeys.id, id)).get();
        if (row === undefined) return "unknown";
        if (row.revokedAt !== null) return "gone";
        db.update(apiKeys).set({ revokedAt }).where(eq(apiKeys.id, id)).run();
        kept.clear();
        return "revoked";
      });
    },

    verify(presented) {
      const parts = parseKey(presented);
      if (parts === null) return { outcome: "invalid" };
      const row = keptRowOf(parts.id);
      const equal = timingSafeEqual(hashOf(parts.secret), row?.secretHash ?? NO_HASH);
      if (row === undefined || !equal) return { outcome: "invalid" };
      const key = record(row);
      return { outcome: key.state === "active" ? "valid" : key.state, key };
    },

    touch(id, at) {
      uses.set(id, laterUse(at, uses.get(id) ?? 0));
      unwritten.add(id);
    },

    flush,

    count: () =>
      state.read(
        () => state.db.select({ active: count() }).from(apiKeys).where(isActive()).get()?.active ?? 0,
      ),
  };
}

/** The later of two uses; a known one that is more than a day ahead was noted by a clock that was wrong. */
function laterUse(at: number, known: number): number {
  return known > at && known - at <= DAY_MS ? known : at;
}

function hashOf(secret: string): Uint8Array {
  const hash = new Uint8Array(NO_HASH.length);
  Bun.SHA256.hash(secret, hash);
  return hash;
}
