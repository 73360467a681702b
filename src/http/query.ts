import {
  Kind,
  type SchemaOptions,
  type TObject,
  type TOptional,
  type TUnsafe,
  Type,
  TypeRegistry,
} from "@sinclair/typebox";
import { closestNames } from "../config/closest-word.ts";
import { ApiError } from "../domain/errors.ts";
import { RULE, type TextRule, textRule } from "../domain/text-types.ts";

/** A query parameter as a TypeBox type with the static type of the parsed value, for routes and typed clients. */
export type Parameter<T> = TUnsafe<T> & { readonly [RULE]: ParameterRule<T> };
type Parameters = Readonly<Record<string, Parameter<unknown>>>;

interface ParameterRule<T> {
  readonly takes: string;
  /** Parses a sent value: a string, or strings if the parameter was repeated. Undefined if not valid. */
  read(sent: string | readonly string[]): T | undefined;
}

/** A query, declared once for Elysia's validation and the OpenAPI document. */
export interface QueryDefinition<P extends Parameters = Parameters> {
  readonly parameters: P;
  readonly schema: TObject<{ [K in keyof P]: TOptional<P[K]> }>;
  /** Parses a query as sent, without `?`. Throws INVALID_QUERY. */
  parse(query: string): QueryValues<P>;
}

/** Parsed values of the sent parameters. */
export type Values<P> = { readonly [K in keyof P]?: P[K] extends Parameter<infer T> ? T : never };
type QueryValues<P extends Parameters> = {
  readonly [K in keyof P]: P[K] extends Parameter<infer T> ? T | null : never;
};
export type QueryOf<D> = D extends QueryDefinition<infer P> ? QueryValues<P> : never;

/** Marks parsed values, because Elysia decodes a query twice. */
class QueryRead {}
/** Sent values by name: a string, or strings if repeated. */
export type Sent = Readonly<Record<string, string | readonly string[]>>;

// With a plain object type, TypeBox visits every parameter that the route knows, sent or not, four times a request
// (22 µs for a list), and compiles each (8 MB for all routes).
TypeRegistry.Set<TObject<Record<string, Parameter<unknown>>>>(
  "Query",
  ({ properties }, sent) => sent instanceof QueryRead || readingOf(properties, sent as Sent).wrong === null,
);

/** Readings by sent values, which are parsed once although Elysia first checks and then decodes a query. */
const readings = new WeakMap<Sent, { values: QueryRead; wrong: string | null }>();

/** Returns the values and the first parameter that is unknown or invalid. */
function readingOf(parameters: Parameters, sent: Sent) {
  const reading = readings.get(sent) ?? { values: new QueryRead(), wrong: null as string | null };
  if (readings.has(sent)) return reading;
  readings.set(sent, reading);
  for (const name in sent) {
    const rule = Object.hasOwn(parameters, name) ? parameters[name]?.[RULE] : undefined;
    const value = rule?.read(sent[name] ?? "");
    if (value === undefined) reading.wrong ??= name;
    else Object.assign(reading.values, { [name]: value });
  }
  return reading;
}

export function queryOf<const P extends Parameters>(parameters: P): QueryDefinition<P> {
  const known = Object.entries(parameters);
  const optional = Object.fromEntries(known.map(([name, one]) => [name, Type.Optional(one)]));
  const object = Type.Object(optional, { additionalProperties: false });
  const schema = Type.Transform({ ...object, [Kind]: "Query" })
    .Decode((sent): object => (sent instanceof QueryRead ? sent : readingOf(parameters, sent as Sent).values))
    .Encode((values) => ({ ...values }));
  const absent = Object.fromEntries(known.map(([name, { default: value = null }]) => [name, value]));
  return {
    parameters,
    // TypeScript sees the object type.
    schema: schema as unknown as QueryDefinition<P>["schema"],
    parse(query) {
      const sent = sentValues(query, ["api_key"]);
      const { wrong, values } = readingOf(parameters, sent);
      if (wrong !== null) throw invalidQuery(parameters, sent);
      return { ...absent, ...values } as QueryValues<P>;
    },
  };
}

/** Returns all sent values. `_` only defeats caches. */
export function sentValues(query: string, ignored: readonly string[]): Sent {
  const values: Record<string, string | string[]> = Object.create(null);
  if (query === "") return values;
  for (const [name, value] of new URLSearchParams(query)) {
    if (name === "_" || ignored.includes(name)) continue;
    const before = values[name];
    values[name] = before === undefined ? value : [before, value].flat();
  }
  return values;
}

/** Returns the error for a query: the parameter, its value and the allowed values. */
export function invalidQuery(parameters: Parameters, sent: Sent): ApiError {
  const name = readingOf(parameters, sent).wrong ?? "";
  const parameter = Object.hasOwn(parameters, name) ? parameters[name] : undefined;
  if (parameter === undefined) {
    const [closest] = closestNames(name, Object.keys(parameters));
    const meant =
      closest === undefined
        ? "This path accepts no query parameters."
        : `The closest one is ${shown(closest)}.`;
    return new ApiError("INVALID_QUERY", `Unknown query parameter ${shown(name)}. ${meant}`);
  }
  const { takes } = parameter[RULE];
  const got = [sent[name] ?? ""].flat();
  const message =
    got.length > 1 && parameter.type !== "array"
      ? `may be given only once, got ${got.length}; it must be ${takes}.`
      : `got ${shown(got.join(","))}; it must be ${takes}.`;
  return new ApiError("INVALID_QUERY", `Query parameter "${name}" ${message}`);
}

/** Declares a parameter that may be sent once. */
export function single<T>({ takes, read }: TextRule<T>, options: SchemaOptions): Parameter<T> {
  const one = { takes, read: (sent: unknown) => (typeof sent === "string" ? read(sent) : undefined) };
  return Object.assign(Type.Unsafe<T>(options), { [RULE]: one });
}

const MAX_ITEMS = 1000;

/** Declares a parameter that may be repeated. With `split`, commas separate items, too. */
export function list<T>(
  { takes, read }: TextRule<T>,
  items: SchemaOptions,
  options: SchemaOptions,
  split = true,
): Parameter<readonly T[]> {
  const schema = Type.Unsafe<readonly T[]>({ type: "array", items, maxItems: MAX_ITEMS, ...options });
  const many = (sent: string | readonly string[]) => {
    const texts = [sent].flat().flatMap((text) => (split ? text.split(",") : [text]));
    const values = texts.length > MAX_ITEMS ? [undefined] : texts.map(read);
    return values.includes(undefined) ? undefined : (values as T[]);
  };
  return Object.assign(schema, { [RULE]: { takes, read: many } });
}

const ANY = textRule("a string", () => true);

export function text(description: string, example: string): Parameter<string> {
  return single(ANY, { type: "string", description, example });
}

/** Marks a parameter as required in the OpenAPI document. The route itself refuses a request without it. */
export function required<T>(parameter: Parameter<T>): Parameter<T> {
  return Object.assign(parameter, { [REQUIRED]: true });
}

export const REQUIRED = Symbol("required");

/** Declares exact names, separated by comma or repetition. */
export function names(description: string, example: string): Parameter<readonly string[]> {
  const rule = { ...ANY, takes: "names, separated by commas" };
  return list(rule, { type: "string" }, { description, example: [example] });
}

function wordRule<W extends string>(takes: string, vocabulary: readonly W[]): TextRule<W> {
  return { takes, read: (sent) => vocabulary.find((known) => known === sent) };
}

export function wordList<const W extends string>(vocabulary: readonly W[], description: string) {
  const rule = wordRule(`one or more of ${vocabulary.join(", ")}, separated by commas`, vocabulary);
  return list(rule, { type: "string", enum: vocabulary }, { description, example: [vocabulary[0]] });
}

export function word<const W extends string>(vocabulary: readonly W[], description: string) {
  const rule = wordRule(`one of ${vocabulary.join(", ")}`, vocabulary);
  return single(rule, { type: "string", enum: vocabulary, description, example: vocabulary[0] });
}

export function flag(description: string): Parameter<boolean> {
  const read = (sent: string) => (sent === "true" ? true : sent === "false" ? false : undefined);
  return single({ takes: "true or false", read }, { type: "boolean", description, example: true });
}

interface Bounds {
  readonly minimum: number;
  readonly maximum: number;
}

/** Declares an integer, in decimal digits only. */
export function integer(description: string, bounds: Bounds, absent?: number): Parameter<number> {
  const takes = `an integer from ${bounds.minimum} to ${bounds.maximum}`;
  const example = absent ?? within(bounds, 100);
  const ifAbsent = absent !== undefined && { default: absent };
  const options = { ...bounds, type: "integer", description, example, ...ifAbsent };
  return single(numeric(takes, /^-?\d{1,16}$/, bounds), options);
}

/** Declares a number, as a plain decimal only (`12`, `12.5`). */
export function decimal(description: string, bounds: Bounds): Parameter<number> {
  const takes = `a number from ${bounds.minimum} to ${bounds.maximum} in plain decimals`;
  const options = { ...bounds, type: "number", description, example: within(bounds, 80) };
  return single(numeric(takes, /^-?\d{1,15}(\.\d{1,15})?$/, bounds), options);
}

function numeric(takes: string, form: RegExp, bounds: Bounds): TextRule<number> {
  const read = (sent: string) =>
    form.test(sent) && within(bounds, Number(sent)) === Number(sent) ? Number(sent) : undefined;
  return { takes, read };
}

function within({ minimum, maximum }: Bounds, value: number): number {
  return Math.min(maximum, Math.max(minimum, value));
}

/** Declares `sort`: `field` or `-field`. */
export function sortBy<const F extends string>(fields: readonly F[]) {
  const vocabulary = fields.flatMap((field) => [field, `-${field}`] as const);
  return single(wordRule(`one of ${fields.join(", ")}, with - before it for descending`, vocabulary), {
    type: "string",
    enum: vocabulary,
    description: "Field to sort by; prefix `-` for descending. Nulls come last; ties are sorted by identity.",
    example: `-${fields[0]}`,
  });
}

/** Declares texts by repetition only, because they may contain commas. */
function repeated(takes: string, description: string, example: string, form = /^/) {
  const rule = textRule(`${takes}; repeat the parameter for several`, (sent) => form.test(sent));
  return list(rule, { type: "string" }, { description, example: [example] }, false);
}

export const NAMED = {
  feature: repeated(
    "a name",
    "Exact name; may be repeated. An unknown name is answered with 404.",
    "Schema_Editor",
  ),
  daemon: names("Names of daemons. An unknown name is answered with 404.", "siliqd"),
  server: names("Ids of servers. An unknown id is answered with 404.", "eda"),
  label: repeated(
    "a label of servers as name:value",
    "Only servers with all of these labels. A label that no server has is answered with 404.",
    "location:muc",
    /^[^:]+:/,
  ),
};

export const PRODUCT = repeated(
  "the name of a product",
  "Only features of these products; `products` then has their figures. An unknown name is answered with 404.",
  "LogicSim",
);

export const PEOPLE = {
  user: names("Exact names of users.", "ada"),
  host: names("Names of client hosts; case is ignored.", "ws01"),
};

const ROWS = { minimum: 1, maximum: 10_000 };
const OFFSET = integer("Number of matches to skip.", { minimum: 0, maximum: 2 ** 53 - 1 }, 0);

export const FORMAT = {
  format: word(["json", "csv"], "Format of the answer; overrides the Accept header."),
  bom: flag("CSV begins with a byte-order mark, which Excel needs to read it as UTF-8."),
};

/** Parameters of live lists, which are complete without a limit. */
export const LIVE_LIST = {
  limit: integer("Maximum number of rows. Default: all.", ROWS),
  offset: OFFSET,
  ...FORMAT,
};

/** Parameters of stored lists, which have 100 rows by default. */
export const STORED_LIST = {
  limit: integer("Maximum number of rows.", ROWS, 100),
  offset: OFFSET,
  ...FORMAT,
};

export function storedPage({ limit = 100, offset = 0 }: Values<typeof STORED_LIST>) {
  return { limit, offset };
}

const LONGEST = 100;
/** Matches a key, whole or in part, or only its secret: 43 characters of base64url. */
const KEY_LIKE = /lmk_[A-Za-z0-9_-]*|[A-Za-z0-9_-]{43,}/g;

/**
 * Quotes a client's value for a message: masks keys, cuts at 100 characters, and escapes control characters, line
 * separators and direction marks.
 */
export function shown(value: string): string {
  const masked = value.replaceAll(KEY_LIKE, (key) => (key.startsWith("lmk_") ? "lmk_***" : "***"));
  const cut = masked.length > LONGEST ? `${masked.slice(0, LONGEST)}…` : masked;
  const escaped = cut.replaceAll(
    /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu,
    (character) => `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`,
  );
  return `"${escaped}"`;
}
