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

/** A query parameter as a TypeBox type, whose static type is that of the value, for the route as for a typed client. */
export type Parameter<T> = TUnsafe<T> & { readonly [RULE]: ParameterRule<T> };
type Parameters = Readonly<Record<string, Parameter<unknown>>>;

interface ParameterRule<T> {
  readonly takes: string;
  /** Parses a sent value: a string, or strings if the parameter was repeated. Undefined if not valid. */
  read(sent: string | readonly string[]): T | undefined;
}

/** A query, declared once: Elysia validates with its schema, which the OpenAPI document shows too. */
export interface QueryDefinition<P extends Parameters = Parameters> {
  readonly parameters: P;
  readonly schema: TObject<{ [K in keyof P]: TOptional<P[K]> }>;
  /** Reads a query as sent, without `?`, where no route does. Throws INVALID_QUERY. */
  parse(query: string): QueryValues<P>;
}

/** The values of parameters that were sent, as a route gets them. */
export type Values<P> = { readonly [K in keyof P]?: P[K] extends Parameter<infer T> ? T : never };
type QueryValues<P extends Parameters> = {
  readonly [K in keyof P]: P[K] extends Parameter<infer T> ? T | null : never;
};
export type QueryOf<D> = D extends QueryDefinition<infer P> ? QueryValues<P> : never;

/** Values that have been read: Elysia decodes a query twice. */
class QueryRead {}
/** Sent values by name: a string, or strings if repeated. */
export type Sent = Readonly<Record<string, string | readonly string[]>>;

// A kind of its own: of a plain object TypeBox visits every parameter that the route knows, whether it was sent or
// not, four times a request (22 µs for a list), and compiles each (8 MB for all routes).
TypeRegistry.Set<TObject<Record<string, Parameter<unknown>>>>(
  "Query",
  ({ properties }, sent) => sent instanceof QueryRead || readingOf(properties, sent as Sent).wrong === null,
);

/** Elysia checks a query, then decodes it: read the sent values once. */
const readings = new WeakMap<Sent, { values: QueryRead; wrong: string | null }>();

/** The values, and the first parameter that is not known, or not understood. */
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
    // To the compiler it is the object that it is made of, whose properties have the types of their values.
    schema: schema as unknown as QueryDefinition<P>["schema"],
    parse(query) {
      const sent = sentValues(query, ["api_key"]);
      const { wrong, values } = readingOf(parameters, sent);
      if (wrong !== null) throw invalidQuery(parameters, sent);
      return { ...absent, ...values } as QueryValues<P>;
    },
  };
}

/** Every value that was sent. `_` only defeats caches. */
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
    const meant = closest === undefined ? "This path takes none." : `The closest one is ${shown(closest)}.`;
    return new ApiError("INVALID_QUERY", `Query parameter ${shown(name)} is not known here. ${meant}`);
  }
  const { takes } = parameter[RULE];
  const got = [sent[name] ?? ""].flat();
  const message =
    got.length > 1 && parameter.type !== "array"
      ? `is given ${got.length} times; it takes ${takes}, once.`
      : `got ${shown(got.join(","))}; it takes ${takes}.`;
  return new ApiError("INVALID_QUERY", `Query parameter "${name}" ${message}`);
}

/** A parameter that may be given once. */
export function single<T>({ takes, read }: TextRule<T>, options: SchemaOptions): Parameter<T> {
  const one = { takes, read: (sent: unknown) => (typeof sent === "string" ? read(sent) : undefined) };
  return Object.assign(Type.Unsafe<T>(options), { [RULE]: one });
}

const MAX_ITEMS = 1000;

/** A parameter that may be repeated; `split`: commas separate items too. */
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

const ANY = textRule("a text", () => true);

/** Free text. */
export function text(description: string, example: string): Parameter<string> {
  return single(ANY, { type: "string", description, example });
}

/** Marks a parameter as required in the OpenAPI document. The route itself refuses a request without it. */
export function required<T>(parameter: Parameter<T>): Parameter<T> {
  return Object.assign(parameter, { [REQUIRED]: true });
}

export const REQUIRED = Symbol("required");

/** Exact names, by comma or repetition. */
export function names(description: string, example: string): Parameter<readonly string[]> {
  const rule = { ...ANY, takes: "names, separated by commas" };
  return list(rule, { type: "string" }, { description, example: [example] });
}

function wordRule<W extends string>(takes: string, vocabulary: readonly W[]): TextRule<W> {
  return { takes, read: (sent) => vocabulary.find((known) => known === sent) };
}

/** Words of a closed vocabulary, by comma or repetition. */
export function wordList<const W extends string>(vocabulary: readonly W[], description: string) {
  const rule = wordRule(`${vocabulary.join(", ")} (one or more, separated by commas)`, vocabulary);
  return list(rule, { type: "string", enum: vocabulary }, { description, example: [vocabulary[0]] });
}

/** One word of a closed vocabulary. */
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

/** A whole number in plain decimal digits, within bounds. */
export function integer(description: string, bounds: Bounds, absent?: number): Parameter<number> {
  const takes = `an integer from ${bounds.minimum} to ${bounds.maximum}`;
  const example = absent ?? within(bounds, 100);
  const ifAbsent = absent !== undefined && { default: absent };
  const options = { ...bounds, type: "integer", description, example, ...ifAbsent };
  return single(numeric(takes, /^-?\d{1,16}$/, bounds), options);
}

/** A number in plain decimals (`12`, `12.5`), within bounds. */
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

/** A field to sort by: `field` or `-field`. */
export function sortBy<const F extends string>(fields: readonly F[]) {
  const vocabulary = fields.flatMap((field) => [field, `-${field}`] as const);
  return single(wordRule(`one of ${fields.join(", ")}, with - before it for descending`, vocabulary), {
    type: "string",
    enum: vocabulary,
    description: "Field to sort by, `-` before it for descending. Nulls come last, ties go by identity.",
    example: `-${fields[0]}`,
  });
}

/** Texts by repetition alone, because they may hold commas. */
function repeated(takes: string, description: string, example: string, form = /^/) {
  const rule = textRule(`${takes}; repeat it for more`, (sent) => form.test(sent));
  return list(rule, { type: "string" }, { description, example: [example] }, false);
}

/** `server`, `daemon`, `feature` and `label`: filters of lists and statistics. */
export const NAMED = {
  feature: repeated("a name", "Exact name; may be repeated. An unknown one is 404.", "Schema_Editor"),
  daemon: names("Names of daemons. An unknown one is 404.", "siliqd"),
  server: names("Ids of servers. An unknown one is 404.", "eda"),
  label: repeated(
    "a label of servers as name:value",
    "Only servers with this label; of several all must hold. One that no server has is 404.",
    "location:muc",
    /^[^:]+:/,
  ),
};

export const PRODUCT = repeated(
  "the name of a product",
  "Only features of these products, which `products` then has figures of. An unknown one is 404.",
  "LogicSim",
);

/** `user` and `host`: whom a list is about. */
export const PEOPLE = {
  user: names("Exact names of users.", "ada"),
  host: names("Names of client hosts, in any case.", "ws01"),
};

const ROWS = { minimum: 1, maximum: 10_000 };
const OFFSET = integer("Matches to leave out at the front.", { minimum: 0, maximum: 2 ** 53 - 1 }, 0);

/** `format` of a list, which beats the Accept header. */
export const FORMAT = {
  format: word(["json", "csv"], "Format of the answer; beats the Accept header."),
  bom: flag("CSV begins with a byte-order mark, which Excel needs to read it as UTF-8."),
};

/** Page and format of the lists of the live snapshot, which answer everything without a limit. */
export const LIVE_LIST = {
  limit: integer("Most rows to answer; all when absent.", ROWS),
  offset: OFFSET,
  ...FORMAT,
};

/** Page and format of stored lists: 100 rows unless told otherwise. */
export const STORED_LIST = { limit: integer("Most rows to answer.", ROWS, 100), offset: OFFSET, ...FORMAT };

/** The page of a stored list. */
export function storedPage({ limit = 100, offset = 0 }: Values<typeof STORED_LIST>) {
  return { limit, offset };
}

const LONGEST = 100;
/** A key, whole or in part, or its secret alone: 43 characters of base64url. */
const KEY_LIKE = /lmk_[A-Za-z0-9_-]*|[A-Za-z0-9_-]{43,}/g;

/**
 * A value of the client's, fit for a message: anything like a key masked, cut at 100 characters, control
 * characters (line separators and direction marks too) escaped, in quotes.
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
