import {
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

/**
 * Result of checking a presented key. `invalid` gives no reason, because only the owner of the secret may
 * learn that a key has expired or was revoked.
 */
export type KeyCheck =
  | { readonly outcome: "valid" | "expired" | "revoked"; readonly key: KeyRecord }
  | { readonly outcome: "invalid" };

export type CreateKeyResult =
  | {
      readonly outcome: "created";
      readonly key: KeyRecord;
      /**
       * The key as clients present it, `lmk_<id>_<secret>`. It is stored nowhere, so it can be shown only
       * once.
       */
      readonly presented: string;
    }
  | { readonly outcome: "name-taken"; readonly key: KeyRecord };

export interface KeyRow extends Omit<KeyRecord, "state" | "lastUsedAt"> {
  readonly secretHash: Uint8Array;
}

/** Rows of keys. A daemon stores them in SQLite; a hub stores them in PostgreSQL, with a copy in memory. */
interface KeyRows {
  byId(id: string): KeyRow | undefined;
  all(): readonly KeyRow[];
  usedAt(id: string): number | null;
}

interface KeyBookDeps {
  readonly rows: KeyRows;
  readonly clock: Clock;
  readonly random?: RandomBytes;
  readonly ofSites: boolean;
}

/** Hash to compare with if no key has the presented id, so that known and unknown ids take the same path. */
export const NO_HASH = new Uint8Array(32);

/** Verifies keys, finds them and records their uses, for any storage. */
export function createKeyBook({ rows, clock, random = systemRandom, ofSites }: KeyBookDeps) {
  const uses = new Map<string, number>();

  function record({ secretHash: _, ...row }: KeyRow): KeyRecord {
    const lastUsedAt = uses.get(row.id) ?? rows.usedAt(row.id);
    return { ...row, lastUsedAt, state: keyState(row, clock.now()) };
  }

  function get(id: string): KeyRecord | null {
    const row = rows.byId(id);
    return row === undefined ? null : record(row);
  }

  const list = (): readonly KeyRecord[] => rows.all().map(record);

  return {
    ofSites,
    record,
    get,
    list,
    count: (): number => list().filter(({ state }) => state === "active").length,

    /**
     * Finds a key by id or else by name. Of several keys with the name, returns the active one, else the
     * newest.
     */
    find(idOrName: string): KeyRecord | null {
      const named = () => list().filter(({ name }) => name === idOrName);
      return get(idOrName) ?? named().findLast(({ state }) => state === "active") ?? named().at(-1) ?? null;
    },

    /** Builds a key, with a new id and secret unless given. Throws RangeError if `keyProblem` refuses it. */
    make(wanted: NewKey, parts = makeKey(random)) {
      const problem = keyProblem(wanted, clock.now(), ofSites);
      if (problem !== null) throw new RangeError(problem.message);
      const secretHash = Buffer.from(hashOf(parts.secret));
      const row = { ...wanted, id: parts.id, secretHash, createdAt: clock.now(), revokedAt: null };
      return { row, presented: printKey(parts) };
    },

    verify(presented: string): KeyCheck {
      const parts = parseKey(presented);
      if (parts === null) return { outcome: "invalid" };
      const row = rows.byId(parts.id);
      const equal = crypto.timingSafeEqual(hashOf(parts.secret), row?.secretHash ?? NO_HASH);
      if (row === undefined || !equal) return { outcome: "invalid" };
      const key = record(row);
      return { outcome: key.state === "active" ? "valid" : key.state, key };
    },

    /** Records a use in memory. It is written later, so that a request costs no write. */
    touch(id: string, at: number): void {
      uses.set(id, laterUse(at, uses.get(id) ?? rows.usedAt(id) ?? 0));
    },

    unwritten: (): readonly (readonly [id: string, at: number])[] => [...uses],

    written(noted: readonly (readonly [id: string, at: number])[]): void {
      for (const [id, at] of noted) if (uses.get(id) === at) uses.delete(id);
    },
  };
}

/**
 * Returns the later of two uses. A known use more than a day ahead came from a wrong clock and is ignored.
 */
export function laterUse(at: number, known: number): number {
  return known > at && known - at <= DAY_MS ? known : at;
}

export function hashOf(secret: string): Uint8Array {
  const hash = new Uint8Array(NO_HASH.length);
  Bun.SHA256.hash(secret, hash);
  return hash;
}
