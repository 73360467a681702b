import { eq, inArray } from "drizzle-orm";
import { type KeyRecord, makeKey, type RandomBytes, systemRandom } from "../domain/keys.ts";
import { type Clock, DAY_MS, HOUR_MS, MINUTE_MS } from "../domain/time/clock.ts";
import type { Role } from "../domain/words.ts";
import { signIns } from "./database/schema.ts";
import { hashOf, laterUse, NO_HASH } from "./keys.ts";
import type { Store } from "./open/open.ts";

/** A sign-in ends when it was not used for so long, unless it is to stay. */
const IDLE_MS = 12 * HOUR_MS;
/** One that is to stay ends so long after it began, used or not. */
export const STAY_MS = 30 * DAY_MS;
/** A link of `licmond open` is good for so long. */
const CODE_MS = 10 * MINUTE_MS;
/** More sign-ins of one key end that which was not used for longest; more codes, the oldest. */
const MAX_OF_KEY = 1_000;
const MAX_CODES = 1_000;

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

export interface SignInsDeps {
  readonly state: Pick<Store["state"], "db" | "read" | "change" | "transaction">;
  /** The key of an id, or what stands for it; null when there is none. */
  readonly keyOf: (id: string) => KeyRecord | null;
  readonly clock: Clock;
  readonly random?: RandomBytes;
}

type Row = typeof signIns.$inferSelect;

export type SignIns = ReturnType<typeof createSignIns>;

/** Browsers that are signed in. All are in memory: the daemon alone writes them. */
export function createSignIns({ state, keyOf, clock, random = systemRandom }: SignInsDeps) {
  const rows = state.read(() => state.db.select().from(signIns).all());
  const known = new Map(rows.map((row) => [row.id, row]));
  /** Ids of those whose last use is not written. */
  const unwritten = new Set<string>();
  /** Links that were made and not followed yet, by the hash of their code. They end with the daemon. */
  const codes = new Map<string, Grant & { readonly until: number }>();

  function check(row: Row | undefined, find = keyOf): SignInCheck {
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
    /**
     * Signs a browser in, in place of the sign-in that it had. `token` is the cookie's value: shown once, here, and stored
     * nowhere; `maxAge`: seconds for which the browser may keep it. Throws StoreError, or Error when the grant has ended.
     */
    create(
      { keyId, role, expiresAt }: Grant,
      stay: boolean,
      browser: string | null,
      replaced: string | null = null,
    ) {
      const { id, secret } = makeKey(random);
      const now = clock.now();
      const end = stay ? Math.min(expiresAt ?? Number.POSITIVE_INFINITY, now + STAY_MS) : expiresAt;
      const tokenHash = Buffer.from(hashOf(secret));
      const times = { createdAt: now, lastUsedAt: now, expiresAt: end };
      const row: Row = { id, tokenHash, keyId, role, stay, browser, ...times };
      const made = check(row);
      if (made.outcome !== "valid") throw new Error("The key of a sign-in has ended");
      const all = [...known.values()];
      const over = all.filter((each) => each.id === replaced || endOf(each) <= now);
      const ofKey = all.filter((each) => each.keyId === keyId);
      const oldest = ofKey.sort((a, b) => b.lastUsedAt - a.lastUsedAt).slice(MAX_OF_KEY - 1);
      const ended = [...over, ...oldest].map((each) => each.id);
      state.change((db) => {
        db.delete(signIns).where(inArray(signIns.id, ended)).run();
        db.insert(signIns).values(row).run();
      });
      for (const each of ended) known.delete(each);
      known.set(id, row);
      const maxAge = stay ? Math.floor(((end ?? now) - now) / 1000) : null;
      return { signIn: made.signIn, token: `${id}.${secret}`, maxAge };
    },

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

    /** Signs it out for good. Throws StoreError. */
    end(id: string): void {
      state.change((db) => void db.delete(signIns).where(eq(signIns.id, id)).run());
      known.delete(id);
    },

    /** Notes a use, so that the sign-in does not end. */
    touch(id: string): void {
      const row = known.get(id);
      if (row === undefined) return;
      row.lastUsedAt = laterUse(clock.now(), row.lastUsedAt);
      unwritten.add(id);
    },

    /** Writes the noted uses. On a StoreError they stay noted. */
    flush(): void {
      if (unwritten.size === 0) return;
      state.transaction(() => {
        for (const id of unwritten) {
          const row = known.get(id);
          if (row === undefined) continue;
          state.db.update(signIns).set({ lastUsedAt: row.lastUsedAt }).where(eq(signIns.id, id)).run();
        }
      });
      unwritten.clear();
    },

    /** A code that signs in one browser, once, until `until`. */
    makeCode(grant: Grant) {
      const code = makeKey(random).secret;
      const until = clock.now() + CODE_MS;
      codes.set(codeHash(code), { ...grant, until });
      for (const [hash, { until: end }] of codes)
        if (end <= clock.now() || codes.size > MAX_CODES) codes.delete(hash);
      return { code, until };
    },

    /** What a code is good for, and for whom; null when it is unknown, used or too old, or its key has ended. It is used up. */
    takeCode(code: string): { readonly grant: Grant; readonly caller: KeyRecord } | null {
      const hash = codeHash(code);
      const found = codes.get(hash);
      codes.delete(hash);
      if (found === undefined || found.until <= clock.now()) return null;
      const { until: _, ...grant } = found;
      const caller = keyOf(grant.keyId);
      return caller?.state === "active" ? { grant, caller } : null;
    },
  };
}

/** When a sign-in ends by itself, whatever becomes of its key. */
function endOf({ expiresAt, stay, lastUsedAt }: Row): number {
  const idle = stay ? Number.POSITIVE_INFINITY : lastUsedAt + IDLE_MS;
  return Math.min(expiresAt ?? Number.POSITIVE_INFINITY, idle);
}

/** Found by its hash: a comparison that ends early tells nothing of the code. */
const codeHash = (code: string) => Buffer.from(hashOf(code)).toString("base64");
