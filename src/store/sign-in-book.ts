import { type KeyRecord, makeKey, type RandomBytes, systemRandom } from "../domain/keys.ts";
import { type Clock, DAY_MS, HOUR_MS, MINUTE_MS } from "../domain/time/clock.ts";
import type { Role } from "../domain/words.ts";
import { hashOf, laterUse, NO_HASH } from "./key-book.ts";

/** A sign-in ends when it was not used for so long, unless it is to stay. */
const IDLE_MS = 12 * HOUR_MS;
/** One that is to stay ends so long after it began, used or not. */
const STAY_MS = 30 * DAY_MS;
/** A link of `licmond open` is good for so long. */
export const CODE_MS = 10 * MINUTE_MS;
/** More sign-ins of one key end that which was not used for longest; more codes, the oldest. */
const MAX_OF_KEY = 1_000;
export const MAX_CODES = 1_000;

/** What a sign-in may be: of which key, with which part of its rights, and until when. Times are epoch ms. */
export interface Grant {
  /** Id of the key, or of the socket by which a link was asked for. */
  readonly keyId: string;
  /** Null = the key's own. */
  readonly role: Role | null;
  /** It ends then at the latest; null = the key's end alone counts. */
  readonly expiresAt: number | null;
}

export interface SignIn extends Omit<Grant, "expiresAt"> {
  readonly id: string;
  /** Does not end by being idle. */
  readonly stay: boolean;
  readonly createdAt: number;
  readonly lastUsedAt: number;
  /** When it ends if it is not used any more. */
  readonly expiresAt: number;
  /** `Firefox 140 on Linux`; null when the browser said nothing that is known. */
  readonly browser: string | null;
  /** The key as the sign-in has it: with the sign-in's role. */
  readonly caller: KeyRecord;
}

/** What came of a cookie. `ended`: not known here, signed out, or idle for too long. */
export type SignInCheck =
  | { readonly outcome: "valid"; readonly signIn: SignIn; readonly key: KeyRecord }
  | { readonly outcome: "expired" | "revoked"; readonly key: KeyRecord }
  | { readonly outcome: "ended" };

/** A sign-in as it is stored: `tokenHash` is SHA-256 of what the cookie proves itself with. */
export interface SignInRow extends Grant {
  readonly id: string;
  readonly tokenHash: Uint8Array;
  readonly stay: boolean;
  readonly createdAt: number;
  readonly lastUsedAt: number;
  readonly browser: string | null;
}

export interface SignInBookDeps {
  /** The key of an id, or what stands for it; null when there is none. */
  readonly keyOf: (id: string) => KeyRecord | null;
  readonly clock: Clock;
  readonly random?: RandomBytes;
}

/** The sign-ins in memory, wherever they are stored: which hold, what a new one is, and what a cookie is good for. */
export function createSignInBook({ keyOf, clock, random = systemRandom }: SignInBookDeps) {
  let known = new Map<string, SignInRow>();
  /** When each was used last, where that is not written. */
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
    /** Takes what is stored for what is known, but for later uses that are not written. */
    show(rows: readonly SignInRow[]): void {
      const used = ({ id, lastUsedAt }: SignInRow) => Math.max(lastUsedAt, uses.get(id) ?? 0);
      known = new Map(rows.map((row) => [row.id, { ...row, lastUsedAt: used(row) }]));
    },

    /**
     * A new one, in place of that which the browser had: what is to be stored of it, and the ids of those that it ends.
     * `token` is the cookie's value: shown once, here; `maxAge`: seconds for which the browser may keep it. Throws Error
     * when the grant has ended.
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

    /** Whether the sign-in and its key hold. */
    holds: (id: string): boolean => check(known.get(id)).outcome === "valid",

    /** Those that hold, oldest first. */
    list(): readonly SignIn[] {
      const keys = new Map<string, KeyRecord | null>();
      const find = (id: string) => keys.getOrInsertComputed(id, keyOf);
      return [...known.values()]
        .map((row) => check(row, find))
        .flatMap((checked) => (checked.outcome === "valid" ? [checked.signIn] : []))
        .sort((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1));
    },

    /** Notes a use, so that the sign-in does not end. */
    touch(id: string): void {
      const row = known.get(id);
      if (row === undefined) return;
      const lastUsedAt = laterUse(clock.now(), row.lastUsedAt);
      known.set(id, { ...row, lastUsedAt });
      uses.set(id, lastUsedAt);
    },
    /** The uses that are not written. */
    uses: (): readonly (readonly [id: string, at: number])[] => [...uses],
    /** These uses are written. */
    written(noted: readonly (readonly [id: string, at: number])[]): void {
      for (const [id, at] of noted) if (uses.get(id) === at) uses.delete(id);
    },

    /** A new code that signs in one browser, once, until `until`; stored by its hash. */
    makeCode() {
      const code = makeKey(random).secret;
      return { code, hash: codeHash(code), until: clock.now() + CODE_MS };
    },
    /** What a code that was found is good for, and for whom; null when its key has ended. */
    granted(grant: Grant): { readonly grant: Grant; readonly caller: KeyRecord } | null {
      const caller = keyOf(grant.keyId);
      return caller?.state === "active" ? { grant, caller } : null;
    },
  };
}

/** When a sign-in ends by itself, whatever becomes of its key. */
function endOf({ expiresAt, stay, lastUsedAt }: SignInRow): number {
  const idle = stay ? Number.POSITIVE_INFINITY : lastUsedAt + IDLE_MS;
  return Math.min(expiresAt ?? Number.POSITIVE_INFINITY, idle);
}

/** Found by its hash: a comparison that ends early tells nothing of the code. */
export const codeHash = (code: string) => Buffer.from(hashOf(code)).toString("base64");
