import { type KeyRecord, makeKey, type RandomBytes, systemRandom } from "../domain/keys.ts";
import { type Clock, DAY_MS, HOUR_MS, MINUTE_MS } from "../domain/time/clock.ts";
import type { Role } from "../domain/words.ts";
import { hashOf, laterUse, NO_HASH } from "./key-book.ts";

/** Time without use after which a sign-in ends, unless the sign-in was made to stay. */
const IDLE_MS = 12 * HOUR_MS;
/** Lifetime of a sign-in that was made to stay. */
const STAY_MS = 30 * DAY_MS;
/** Time for which a link of `licmond open` is valid. */
export const CODE_MS = 10 * MINUTE_MS;
/**
 * Maximum number of sign-ins per key, and of unused codes. Beyond these limits, a new sign-in ends the
 * key's least recently used one, and a new code replaces the oldest.
 */
const MAX_OF_KEY = 1_000;
export const MAX_CODES = 1_000;

/** Key, rights and expiry of a sign-in. Times are epoch ms. */
export interface Grant {
  /** Id of the key, or of the socket through which a link was requested. */
  readonly keyId: string;
  readonly role: Role | null;
  /** Latest end of the sign-in; null if the grant sets none. */
  readonly expiresAt: number | null;
}

export interface SignIn extends Omit<Grant, "expiresAt"> {
  readonly id: string;
  readonly stay: boolean;
  readonly createdAt: number;
  readonly lastUsedAt: number;
  readonly expiresAt: number;
  /** Name of the browser, e.g. `Firefox 140 on Linux`; null if unknown. */
  readonly browser: string | null;
  /** The key with the sign-in's role. */
  readonly caller: KeyRecord;
}

/**
 * Result of checking a cookie. `ended`: the sign-in is unknown here, was signed out, or was idle for too
 * long.
 */
export type SignInCheck =
  | { readonly outcome: "valid"; readonly signIn: SignIn; readonly key: KeyRecord }
  | { readonly outcome: "expired" | "revoked"; readonly key: KeyRecord }
  | { readonly outcome: "ended" };

export interface SignInRow extends Grant {
  readonly id: string;
  readonly tokenHash: Uint8Array;
  readonly stay: boolean;
  readonly createdAt: number;
  readonly lastUsedAt: number;
  readonly browser: string | null;
}

export interface SignInBookDeps {
  /** Returns the key with an id, or a substitute for the key; null if the id is unknown. */
  readonly keyOf: (id: string) => KeyRecord | null;
  readonly clock: Clock;
  readonly random?: RandomBytes;
}

export function createSignInBook({ keyOf, clock, random = systemRandom }: SignInBookDeps) {
  let known = new Map<string, SignInRow>();
  const uses = new Map<string, number>();

  function check(row: SignInRow | undefined, find = keyOf): SignInCheck {
    const key = row === undefined ? null : find(row.keyId);
    if (row === undefined || key === null) return { outcome: "ended" };
    if (key.state !== "active") return { outcome: key.state, key };
    const { tokenHash: _, ...kept } = row;
    const expiresAt = Math.min(endOf(row), key.expiresAt ?? Number.POSITIVE_INFINITY);
    if (expiresAt <= clock.now()) return { outcome: "ended" };
    const caller = row.role === null ? key : { ...key, role: row.role };
    return { outcome: "valid", key: caller, signIn: { ...kept, expiresAt, caller } };
  }

  return {
    /** Replaces the known sign-ins with stored ones, but keeps later uses that are not written yet. */
    show(rows: readonly SignInRow[]): void {
      const used = ({ id, lastUsedAt }: SignInRow) => Math.max(lastUsedAt, uses.get(id) ?? 0);
      known = new Map(rows.map((row) => [row.id, { ...row, lastUsedAt: used(row) }]));
    },

    /**
     * Makes a sign-in that replaces the browser's previous one. Returns the row to store and the ids of the
     * sign-ins that it ends. `token` is the cookie's value, which is returned only here; `maxAge` is how
     * many seconds the browser may keep the cookie. Throws Error if the grant has ended.
     */
    make({ keyId, role, expiresAt }: Grant, stay: boolean, browser: string | null, replaced: string | null) {
      const { id, secret } = makeKey(random);
      const now = clock.now();
      const end = stay ? Math.min(expiresAt ?? Number.POSITIVE_INFINITY, now + STAY_MS) : expiresAt;
      const tokenHash = Buffer.from(hashOf(secret));
      const times = { createdAt: now, lastUsedAt: now, expiresAt: end };
      const row = { id, tokenHash, keyId, role, stay, browser, ...times };
      const made = check(row);
      if (made.outcome !== "valid") throw new Error("The key of a sign-in has ended");
      const all = [...known.values()];
      const over = all.filter((each) => each.id === replaced || endOf(each) <= now);
      const ofKey = all.filter((each) => each.keyId === keyId);
      const oldest = ofKey.sort((a, b) => b.lastUsedAt - a.lastUsedAt).slice(MAX_OF_KEY - 1);
      const ended = [...over, ...oldest].map((each) => each.id);
      const maxAge = stay ? Math.floor(((end ?? now) - now) / 1000) : null;
      return { row, ended, made: { signIn: made.signIn, token: `${id}.${secret}`, maxAge } };
    },
    add: (row: SignInRow): void => void known.set(row.id, row),
    remove: (id: string): void => void known.delete(id),
    has: (id: string): boolean => known.has(id),

    verify(token: string): SignInCheck {
      const [id = "", secret = ""] = token.slice(0, 100).split(".", 2);
      const row = known.get(id);
      const equal = crypto.timingSafeEqual(hashOf(secret), row?.tokenHash ?? NO_HASH);
      return check(equal ? row : undefined);
    },

    holds: (id: string): boolean => check(known.get(id)).outcome === "valid",

    list(): readonly SignIn[] {
      const keys = new Map<string, KeyRecord | null>();
      const find = (id: string) => keys.getOrInsertComputed(id, keyOf);
      return [...known.values()]
        .map((row) => check(row, find))
        .flatMap((checked) => (checked.outcome === "valid" ? [checked.signIn] : []))
        .sort((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1));
    },

    touch(id: string): void {
      const row = known.get(id);
      if (row === undefined) return;
      const lastUsedAt = laterUse(clock.now(), row.lastUsedAt);
      known.set(id, { ...row, lastUsedAt });
      uses.set(id, lastUsedAt);
    },
    uses: (): readonly (readonly [id: string, at: number])[] => [...uses],
    written(noted: readonly (readonly [id: string, at: number])[]): void {
      for (const [id, at] of noted) if (uses.get(id) === at) uses.delete(id);
    },

    /** Makes a code that signs in one browser, once, until `until`. Only the code's hash is stored. */
    makeCode() {
      const code = makeKey(random).secret;
      return { code, hash: codeHash(code), until: clock.now() + CODE_MS };
    },
    /** Returns the grant of a code with its caller; null if the key of the grant has ended. */
    granted(grant: Grant): { readonly grant: Grant; readonly caller: KeyRecord } | null {
      const caller = keyOf(grant.keyId);
      return caller?.state === "active" ? { grant, caller } : null;
    },
  };
}

/** Returns when a sign-in ends by itself, regardless of its key. */
function endOf({ expiresAt, stay, lastUsedAt }: SignInRow): number {
  const idle = stay ? Number.POSITIVE_INFINITY : lastUsedAt + IDLE_MS;
  return Math.min(expiresAt ?? Number.POSITIVE_INFINITY, idle);
}

/** Codes are found by their hash, so the timing of a comparison reveals nothing about the code. */
export const codeHash = (code: string) => Buffer.from(hashOf(code)).toString("base64");
