import { type SchemaOptions, type TUnsafe, Type } from "@sinclair/typebox";
import { RULE, type TextRule, textRule } from "../domain/text-types.ts";

/**
 * The kinds of query parameters that the API has, as TypeBox types: `query.ts` puts them together. The static type is
 * that of the value, for the route as for a typed client.
 */
export type Parameter<T, Absent = null> = TUnsafe<T> & {
  readonly [RULE]: ParameterRule<T>;
  readonly [ABSENT]: Absent;
};

/** Value of an absent parameter, where a query is read without Elysia. */
export const ABSENT = Symbol("absent");

interface ParameterRule<T> {
  readonly takes: string;
  /** The value of what was sent: a text, or texts where the parameter was repeated. Undefined when it is none. */
  read(sent: string | readonly string[]): T | undefined;
}

function parameter<T, Absent>(
  options: SchemaOptions,
  absent: Absent,
  rule: ParameterRule<T>,
): Parameter<T, Absent> {
  return Object.assign(Type.Unsafe<T>(options), { [RULE]: rule, [ABSENT]: absent });
}

/** A parameter that may be given once. */
export function single<T>(rule: TextRule<T>, options: SchemaOptions): Parameter<T>;
export function single<T, Absent>(
  rule: TextRule<T>,
  options: SchemaOptions,
  absent: Absent,
): Parameter<T, Absent>;
export function single<T>({ takes, read }: TextRule<T>, options: SchemaOptions, absent: T | null = null) {
  return parameter(options, absent, {
    takes,
    read: (sent) => (typeof sent === "string" ? read(sent) : undefined),
  });
}

const MAX_ITEMS = 1000;

/** A parameter that may be repeated; `split`: commas separate items too. */
function list<T>({ takes, read }: TextRule<T>, items: SchemaOptions, options: SchemaOptions, split: boolean) {
  return parameter<readonly T[], null>({ type: "array", items, maxItems: MAX_ITEMS, ...options }, null, {
    takes,
    read(sent) {
      const texts = [sent].flat().flatMap((text) => (split ? text.split(",") : [text]));
      const values = texts.length > MAX_ITEMS ? [undefined] : texts.map(read);
      return values.includes(undefined) ? undefined : (values as T[]);
    },
  });
}

/** Free text. */
export function text(description: string, example: string): Parameter<string> {
  return single(
    textRule("a text", () => true),
    { type: "string", description, example },
  );
}

/** Exact names, by comma or repetition. */
export function names(description: string, example: string): Parameter<readonly string[]> {
  const rule = textRule("names, separated by commas", () => true);
  return list(rule, { type: "string" }, { description, example: [example] }, true);
}

/** Exact names by repetition alone, because they may hold commas. */
export function wholeNames(description: string, example: string): Parameter<readonly string[]> {
  const rule = textRule("a name; repeat it for more", () => true);
  return list(rule, { type: "string" }, { description, example: [example] }, false);
}

function wordRule<W extends string>(takes: string, vocabulary: readonly W[]): TextRule<W> {
  return { takes, read: (sent) => vocabulary.find((known) => known === sent) };
}

/** Words of a closed vocabulary, by comma or repetition. */
export function wordList<const W extends string>(vocabulary: readonly W[], description: string) {
  const rule = wordRule(`${vocabulary.join(", ")} (one or more, separated by commas)`, vocabulary);
  return list(rule, { type: "string", enum: vocabulary }, { description, example: [vocabulary[0]] }, true);
}

/** One word of a closed vocabulary. */
export function word<const W extends string>(vocabulary: readonly W[], description: string) {
  const takes = vocabulary.length === 1 ? `${vocabulary[0]}` : `one of ${vocabulary.join(", ")}`;
  const options = { type: "string", enum: vocabulary, description, example: vocabulary[0] };
  return single(wordRule(takes, vocabulary), options);
}

export function flag(description: string): Parameter<boolean> {
  const read = (sent: string) => (sent === "true" ? true : sent === "false" ? false : undefined);
  return single({ takes: "true or false", read }, { type: "boolean", description, example: true });
}

/** A whole number in plain decimal digits, within bounds. */
export function integer<Absent extends number | null>(
  description: string,
  { minimum, maximum, absent }: { minimum: number; maximum: number; absent: Absent },
): Parameter<number, Absent> {
  const example = absent ?? Math.min(maximum, Math.max(minimum, 100));
  const options = { type: "integer", minimum, maximum, description, example };
  const rule = numberRule(`an integer from ${minimum} to ${maximum}`, /^-?\d{1,16}$/, minimum, maximum);
  return single(rule, absent === null ? options : { ...options, default: absent }, absent);
}

/** A number in plain decimals (`12`, `12.5`), within bounds. */
export function decimal(
  description: string,
  { minimum, maximum }: { minimum: number; maximum: number },
): Parameter<number> {
  const takes = `a number from ${minimum} to ${maximum} in plain decimals`;
  const example = Math.min(maximum, Math.max(minimum, 80));
  return single(numberRule(takes, /^-?\d{1,15}(\.\d{1,15})?$/, minimum, maximum), {
    type: "number",
    minimum,
    maximum,
    description,
    example,
  });
}

function numberRule(takes: string, form: RegExp, minimum: number, maximum: number): TextRule<number> {
  return {
    takes,
    read(sent) {
      const value = form.test(sent) ? Number(sent) : Number.NaN;
      return value >= minimum && value <= maximum ? value : undefined;
    },
  };
}

export interface Sort<F extends string> {
  readonly field: F;
  readonly descending: boolean;
}

/** `field` or `-field`, as {@link sortOf} reads it. */
export function sortBy<const F extends string>(fields: readonly F[]) {
  const vocabulary = fields.flatMap((field) => [field, `-${field}`] as const);
  return single(wordRule(`one of ${fields.join(", ")}, with - before it for descending`, vocabulary), {
    type: "string",
    enum: vocabulary,
    description: "Field to sort by, `-` before it for descending. Nulls come last, ties go by identity.",
    example: `-${fields[0]}`,
  });
}

export function sortOf<F extends string>(sort: F | `-${F}` | undefined): Sort<F> | null {
  if (sort === undefined) return null;
  const descending = sort.startsWith("-");
  return { field: (descending ? sort.slice(1) : sort) as F, descending };
}

/** `server`, `daemon` and `feature`: what of the license servers a list or a statistic is about. */
export const NAMED = {
  feature: wholeNames("Exact name of the feature; may be repeated. An unknown one is 404.", "Schema_Editor"),
  daemon: names("Names of daemons. An unknown one is 404.", "siliqd"),
  server: names("Ids of servers. An unknown one is 404.", "eda"),
};

const OFFSET = integer("Matches to leave out at the front.", { minimum: 0, maximum: 2 ** 53 - 1, absent: 0 });

/** `limit` and `offset` of the lists of the live snapshot, which answer everything without a limit. */
export const LIVE_PAGE = {
  limit: integer("Most rows to answer; all when absent.", { minimum: 1, maximum: 10_000, absent: null }),
  offset: OFFSET,
};

/** What a query of a live list has of a page. */
interface LiveQuery<F extends string> {
  readonly sort?: F | `-${F}`;
  readonly limit?: number;
  readonly offset?: number;
}

export function livePage<F extends string>(
  { sort, limit = undefined, offset = 0 }: LiveQuery<F>,
  by: Sort<F> | null = null,
) {
  return { sort: sortOf(sort) ?? by, limit: limit ?? null, offset };
}

/** The question for everything; its answer is made of parts that are kept. */
export function isPlain(query: {
  readonly format?: string;
  readonly bom?: boolean;
  readonly offset?: number;
}): boolean {
  const { format: _, bom: __, offset = 0, ...narrowed } = query;
  return offset === 0 && Object.keys(narrowed).length === 0;
}

/** What a query names of the license servers; null = all. */
export function named({ server = null, daemon = null, feature = null }: NamedQuery) {
  return { server, daemon, feature };
}

interface NamedQuery {
  readonly server?: readonly string[] | null;
  readonly daemon?: readonly string[] | null;
  readonly feature?: readonly string[] | null;
}

/** `limit` and `offset` of stored lists: 100 rows unless told otherwise. */
export const STORED_PAGE = {
  limit: integer("Most rows to answer.", { minimum: 1, maximum: 10_000, absent: 100 }),
  offset: OFFSET,
};

/** `format` of a list: beats the Accept header. */
export const FORMAT = {
  format: word(["json", "csv"], "Format of the answer; beats the Accept header."),
  bom: flag("CSV begins with a byte-order mark, which Excel needs to read it as UTF-8."),
};
