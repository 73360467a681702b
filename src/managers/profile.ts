import { type Static, type TSchema, Type } from "@sinclair/typebox";
import { words } from "../domain/records.ts";
import type { KeyPath } from "../domain/schema-problems.ts";
import { text, textRule } from "../domain/text-types.ts";
import { UNITS } from "../domain/words.ts";

/** A license manager defined as data: a table `[[managers]]` of the config, or one of `profiles/*.toml`. */

export const FORMATS = ["licmond", "xf-custom", "json", "lines"] as const;
export type Format = (typeof FORMATS)[number];

/** Facts that a profile can extract, as named groups of an expression or as keys of `fields` and `user_fields`. */
export const FACTS = [
  ...(["name", "version", "daemon", "kind", "group", "total", "used", "free", "unlimited"] as const),
  ...(["queued", "reserved", "denied", "expires", "user", "host", "port", "display"] as const),
  ...(["count", "pid", "handle", "start", "until", "error"] as const),
] as const;
export type FactName = (typeof FACTS)[number];
/** Facts of one line or object, as text, so that an unreadable count stays unknown. */
export type Facts = { readonly [Name in FactName]?: string | undefined };

export const LINE_KINDS = [
  ...(["tool", "member", "daemon", "group", "feature", "detail"] as const),
  ...(["checkout", "queued", "assigned", "down", "error", "ignore"] as const),
] as const;
export type LineKind = (typeof LINE_KINDS)[number];

/** Names of placeholders. `SECRETS` are filled in only where other processes cannot see them. */
export const PLACES = ["address", "host", "port"] as const;
export const SECRETS = ["secret", "secret_base64", "token"] as const;

const table = <T extends Record<string, TSchema>>(properties: T) =>
  Type.Object(properties, { additionalProperties: false });
const optional = <T extends TSchema>(schema: T) => Type.Optional(schema);
const someText = text(textRule("a non-empty string", (value) => value !== ""));
const anyText = text(textRule("a string", () => true));
const oneOrMore = Type.Union([someText, Type.Array(someText, { minItems: 1 })]);
const paths = Type.Union([anyText, Type.Array(anyText, { minItems: 1 })]);
const byName = <const Name extends string, Value extends TSchema>(names: readonly Name[], value: Value) =>
  table(
    Object.fromEntries(names.map((name) => [name, optional(value)])) as {
      [Each in Name]: ReturnType<typeof optional<Value>>;
    },
  );
const texts = optional(Type.Record(Type.String(), anyText));
const request = { url: someText, query: texts, headers: texts };

export const ProfileTable = table({
  name: text(
    textRule('a name of 1 to 32 of the characters a-z 0-9 - that starts with a letter, e.g. "lstc"', (name) =>
      /^[a-z][a-z0-9-]{0,31}$/.test(name),
    ),
  ),
  title: optional(someText),
  experimental: optional(Type.Boolean()),

  argv: optional(Type.Array(anyText, { minItems: 1 })),
  env: texts,
  stdin: optional(anyText),
  stream: optional(words(["stdout", "stderr"])),
  http: optional(table(request)),
  login: optional(table({ ...request, body: optional(anyText), token: someText })),
  port: optional(Type.Integer({ minimum: 1, maximum: 65_535 })),

  format: words(FORMATS),
  end: optional(someText),
  group: optional(Type.Boolean()),
  unit: optional(words(UNITS)),
  sum_users: optional(Type.Boolean()),
  unlimited: optional(Type.Array(Type.Union([anyText, Type.Integer()]))),
  permanent: optional(Type.Array(anyText)),
  dates: optional(byName(["expires", "start", "until"], oneOrMore)),

  match: optional(byName(LINE_KINDS, oneOrMore)),

  strip: optional(oneOrMore),
  wrap: optional(Type.Array(anyText, { minItems: 2, maxItems: 2 })),
  features: optional(paths),
  fields: optional(byName(FACTS, paths)),
  where: optional(Type.Record(Type.String(), oneOrMore)),
  users: optional(oneOrMore),
  user_fields: optional(byName([...FACTS, "user@host"], paths)),
  error: optional(oneOrMore),
});
type Frozen<T> = T extends object ? { readonly [Key in keyof T]: Frozen<T[Key]> } : T;
export type Profile = Frozen<Static<typeof ProfileTable>>;

/** Keys that only one format allows. */
export const KEYS_OF_FORMAT: Readonly<Record<Format, readonly (keyof Profile)[]>> = {
  licmond: [],
  "xf-custom": [],
  json: [
    ...(["end", "group", "unit", "sum_users", "unlimited", "permanent", "dates", "strip", "wrap"] as const),
    ...(["features", "fields", "where", "users", "user_fields", "error"] as const),
  ],
  lines: ["end", "group", "unit", "sum_users", "unlimited", "permanent", "dates", "match"],
};

export function listOf<T>(value: T | readonly T[] | undefined): readonly T[] {
  if (value === undefined) return [];
  return Array.isArray(value) ? value : [value as T];
}

export interface Expression {
  readonly path: KeyPath;
  readonly source: string;
}

/** Returns all expressions of a profile; those of `match` in the order in which they are tried. */
export function expressionsOf({
  end,
  strip,
  match = {},
}: Pick<Profile, "end" | "strip" | "match">): readonly Expression[] {
  const own = Object.entries({ end, strip }).map(([key, sources]) => ({ path: [key], sources }));
  const lines = Object.entries(match).map(([kind, sources]) => ({ path: ["match", kind], sources }));
  return [...own, ...lines].flatMap(({ path, sources }) =>
    listOf(sources).map((source, index) => ({
      path: Array.isArray(sources) ? [...path, index] : path,
      source,
    })),
  );
}

/** Compiles an expression. Throws a SyntaxError that describes the problem. */
export function compile(source: string, flags = ""): RegExp {
  // Without `u`, an unsupported escape (`\h`, `\Z`) would silently mean a letter.
  return new RegExp(source, `u${flags}`);
}
