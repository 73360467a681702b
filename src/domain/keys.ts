import { type Static, Type } from "@sinclair/typebox";
import { nullable, record, Timestamp, textOrNull, time, words } from "./records.ts";
import { text, textRule } from "./text-types.ts";
import { AUDIENCES, type Audience, DENIAL_STATES, ROLES, type Role } from "./words.ts";

/** Rules of API keys. A key is `lmk_<id>_<secret>`; its id is public and appears in logs and lists. */

const ID_ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789";
const ID_LENGTH = 12;
const SECRET_BYTES = 32;
/** Number of byte values that are used. Others would make the first letters more frequent. */
const FAIR_BYTES = 256 - (256 % ID_ALPHABET.length);

const KEY = /^lmk_([a-z0-9]{12})_([A-Za-z0-9_-]{43})$/;
const KEY_ID = /^[a-z0-9]{12}$/;

export type RandomBytes = (n: number) => Uint8Array;

export const systemRandom: RandomBytes = (n) => crypto.getRandomValues(new Uint8Array(n));

export interface KeyParts {
  /** Public id: `[a-z0-9]{12}`. */
  readonly id: string;
  /** 43 characters of base64url: 32 random bytes. */
  readonly secret: string;
}

export function makeKey(random: RandomBytes): KeyParts {
  let id = "";
  while (id.length < ID_LENGTH) {
    for (const byte of random(ID_LENGTH)) {
      if (byte < FAIR_BYTES && id.length < ID_LENGTH) id += ID_ALPHABET[byte % ID_ALPHABET.length];
    }
  }
  return { id, secret: random(SECRET_BYTES).toBase64({ alphabet: "base64url", omitPadding: true }) };
}

export function printKey({ id, secret }: KeyParts): string {
  return `lmk_${id}_${secret}`;
}

/** Parses a key; null if malformed. */
export function parseKey(presented: string): KeyParts | null {
  const [, id, secret] = KEY.exec(presented) ?? [];
  return id === undefined || secret === undefined ? null : { id, secret };
}

/**
 * Makes the schema of an id in a path. The pattern only informs clients: an id of another form is answered as
 * unknown.
 */
export function pathId(description: string) {
  return text(
    textRule("an id", () => true),
    { pattern: KEY_ID.source, description, example: "k3v9x2m7q1ab" },
  );
}

/**
 * Parses a secret that was made elsewhere: a whole key, or a secret alone, for which an id is drawn. Null
 * if malformed.
 */
export function keyFromSecret(text: string, random: RandomBytes): KeyParts | null {
  return parseKey(text) ?? parseKey(printKey({ ...makeKey(random), secret: text }));
}

export const KEY_STATES = ["active", "expired", "revoked"] as const;
export type KeyState = (typeof KEY_STATES)[number];

/** Revocation takes precedence over expiry. A key is expired from `expiresAt` on. */
export function keyState(key: Pick<KeyRecord, "revokedAt" | "expiresAt">, now: number): KeyState {
  if (key.revokedAt !== null) return "revoked";
  return key.expiresAt !== null && key.expiresAt <= now ? "expired" : "active";
}

/** Times are epoch ms. Null means no expiry; for quotas and rates, it means the config's default. */
export interface NewKey {
  readonly name: string;
  readonly role: Role;
  readonly expiresAt: number | null;
  readonly anonymize: boolean;
  readonly dailyQuota: number | null;
  readonly monthlyQuota: number | null;
  readonly requestsPerMinute: number | null;
  /** Site for which a key of the role `site` pushes. */
  readonly site?: string;
}

/** A key without its secret. Times are epoch ms. */
export interface KeyRecord extends NewKey {
  readonly id: string;
  /** State when the record was read. */
  readonly state: KeyState;
  readonly createdAt: number;
  readonly revokedAt: number | null;
  /** Time of the last use, null if never; a few seconds late if another process uses the key. */
  readonly lastUsedAt: number | null;
  /** Set for callers without a key while `[page] public` is `counts`. */
  readonly countsOnly?: boolean;
}

const MAX_NAME = 100;
const SITE_NAME = /^[a-z0-9][a-z0-9._-]{0,63}$/;

/** Returns the first problem of a requested key, or null. `ofSites` is true at a hub. */
export function keyProblem(
  wanted: NewKey,
  now: number,
  ofSites = false,
): { readonly field: keyof NewKey; readonly message: string } | null {
  const { name, role, expiresAt, anonymize } = wanted;
  const problem = (field: keyof NewKey, right: string) => ({ field, message: `${field} ${right}` });
  const length = [...name].length;
  if (length === 0 || length > MAX_NAME || name !== name.trim() || /[\p{Cc}\p{Cs}]/u.test(name)) {
    const without = "without control characters, unpaired surrogates, or blanks at either end";
    return problem("name", `must have 1 to ${MAX_NAME} characters, ${without}`);
  }
  if (!ROLES.includes(role)) return problem("role", `must be one of ${ROLES.join(", ")}`);
  if (role === "site" && !ofSites) return problem("role", "site exists only on a hub");
  if (role === "site" && !SITE_NAME.test(wanted.site ?? ""))
    return problem(
      "site",
      "must be the name of the site: 1 to 64 of a-z 0-9 . _ - that start with a letter or digit",
    );
  if (role !== "site" && wanted.site !== undefined)
    return problem("site", "is only allowed with the role site");
  if (expiresAt !== null && !(Number.isSafeInteger(expiresAt) && expiresAt > now))
    return problem("expiresAt", "must be a time in the future");
  if (anonymize && role !== "viewer") return problem("anonymize", "is only allowed with the role viewer");
  const isLimit = (value: number | null) => value === null || (Number.isSafeInteger(value) && value >= 1);
  const wrong = (["dailyQuota", "monthlyQuota", "requestsPerMinute"] as const).find(
    (field) => !isLimit(wanted[field]),
  );
  return wrong === undefined ? null : problem(wrong, "must be an integer of at least 1");
}

const VIEWER = ["calendar", "read", "details", "holders", "people", "commands", "logs"] as const;
const OPERATOR = ["protected_logs", "refresh", "rescan", "acknowledge", "execute_operator"] as const;
const ADMIN = ["execute", "clear_logs", "keys", "reload", "raw"] as const;

export const PERMISSIONS = [...VIEWER, ...OPERATOR, ...ADMIN, "push"] as const;
export type Permission = (typeof PERMISSIONS)[number];

const OF_ROLE: Readonly<Record<Role, ReadonlySet<Permission>>> = {
  calendar: new Set(["calendar"]),
  site: new Set(["push"]),
  viewer: new Set(VIEWER),
  operator: new Set([...VIEWER, ...OPERATOR]),
  admin: new Set([...VIEWER, ...OPERATOR, ...ADMIN]),
};

/** Permissions for data about single people, even under pseudonyms. */
const OF_PEOPLE: readonly Permission[] = ["holders", "people"];
/**
 * Permissions withheld from callers who see no real names: logs name people, and the others describe the
 * site.
 */
const WITH_NAMES: readonly Permission[] = ["logs", "details", "commands"];

type Seeing = Pick<KeyRecord, "anonymize" | "countsOnly">;

export function audienceOf({ anonymize, countsOnly }: Seeing): Audience {
  if (countsOnly) return "counts";
  return anonymize ? "pseudonyms" : "names";
}

/**
 * Reports whether a key has a permission. `details`: status, host and network of the daemon, and labels of
 * servers. `holders`: who holds or held seats, or was denied. `people`: answers about one person, which
 * `[page] people` may withhold. `commands`: the list of commands. `logs`: not for anonymized keys, because
 * logs name people. `protected_logs`: the sources auth, audit and http. `execute_operator`: commands that
 * require an operator. `execute`: all commands.
 */
export function permits(key: Pick<NewKey, "role"> & Seeing, permission: Permission): boolean {
  if (key.anonymize && WITH_NAMES.includes(permission)) return false;
  if (key.countsOnly && OF_PEOPLE.includes(permission)) return false;
  return OF_ROLE[key.role].has(permission);
}

/** Null means the default quota. */
export const Quota = nullable(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }));

const KEY_FIELDS = {
  id: Type.String({ pattern: KEY_ID.source }),
  name: Type.String(),
  role: words(ROLES),
  state: words(KEY_STATES),
  anonymize: Type.Boolean(),
  createdAt: Timestamp,
  expiresAt: nullable(Timestamp),
  revokedAt: nullable(Timestamp),
  lastUsedAt: nullable(Timestamp),
  dailyQuota: Quota,
  monthlyQuota: Quota,
  requestsPerMinute: Quota,
  site: Type.Optional(Type.String({ description: "Site that pushes with the key; only for the role site" })),
};
export const Key = record("Key", KEY_FIELDS);
export type Key = Static<typeof Key>;

/** The only answer that contains a key's secret. */
export const CreatedKey = record("CreatedKey", {
  ...KEY_FIELDS,
  key: Type.String({
    pattern: KEY.source,
    description: "lmk_<id>_<secret>; shown only once, and not stored",
  }),
});
export type CreatedKey = Static<typeof CreatedKey>;

const KeyId = textOrNull("Null for a caller without a key");

const SIGN_IN_FIELDS = {
  id: Type.String({ pattern: KEY_ID.source }),
  keyId: KeyId,
  keyName: Type.String(),
  role: words(ROLES),
  stay: Type.Boolean({ description: "Does not expire after 12 idle hours" }),
  createdAt: Timestamp,
  lastUsedAt: Timestamp,
  expiresAt: time("When the sign-in expires if it is not used again"),
  browser: nullable(Type.String({ examples: ["Firefox 140 on Linux"] })),
  current: Type.Boolean({ description: "Whether this request uses the sign-in" }),
};
export const SignInRecord = record("SignIn", SIGN_IN_FIELDS);
export type SignInRecord = Static<typeof SignInRecord>;

export const SignInLink = record("SignInLink", {
  code: Type.String({ description: "Valid for one sign-in" }),
  codeExpiresAt: Timestamp,
  url: Type.String({ description: "http.public_url or the daemon's own address, with the code after #" }),
});
export type SignInLink = Static<typeof SignInLink>;

export const Me = record("Me", {
  keyId: KeyId,
  name: Type.String({ description: "Name of the key" }),
  role: words(ROLES),
  permissions: Type.Array(words(PERMISSIONS)),
  anonymize: Type.Boolean({ description: "Users and hosts are pseudonyms" }),
  via: words(["key", "sign_in", "socket", "proxy", "public"], "`public`: the built-in viewer, without a key"),
  public: words(["off", ...AUDIENCES], "Data visible without a key ([page] public)"),
  signIn: nullable(Type.Object(SIGN_IN_FIELDS)),
  execute: Type.Boolean({ description: "Commands are enabled" }),
  denials: Type.Array(Type.Object({ server: Type.String(), state: words(DENIAL_STATES) }), {
    description: "Whether denials of each server can be seen",
  }),
});
export type Me = Static<typeof Me>;
