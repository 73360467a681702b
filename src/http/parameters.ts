import { type SchemaOptions, type TUnsafe, Type } from "@sinclair/typebox";
import { RULE, type TextRule, textRule } from "../domain/text-types.ts";

/**
 * The kinds of query parameters that the API has, as TypeBox types: `query.ts` puts them together. The static type is
 * that of the value, for the route as for a typed client.
 */
export type Parameter<T> = TUnsafe<T> & { readonly [RULE]: ParameterRule<T> };

interface ParameterRule<T> {
  readonly takes: string;
  /** The value of what was sent: a text, or texts where the parameter was repeated. Undefined when it is none. */
  read(sent: string | readonly string[]): T | undefined;
}

function parameter<T>(options: SchemaOptions, rule: ParameterRule<T>): Parameter<T> {
  return Object.assign(Type.Unsafe<T>(options), { [RULE]: rule });
}

/** A parameter that may be given once. */
export function single<T>({ takes, read }: TextRule<T>, options: SchemaOptions): Parameter<T> {
  return parameter(options, {
    takes,
    read: (sent) => (typeof sent === "string" ? read(sent) : undefined),
  });
}

const MAX_ITEMS = 1000;

/** A parameter that may be repeated; `split`: commas separate items too. */
function list<T>({ takes, read }: TextRule<T>, items: SchemaOptions, options: SchemaOptions, split: boolean) {
  return parameter<readonly T[]>(
    { type: "array", items, maxItems: MAX_ITEMS, ...options },
    {
      takes,
      read(sent) {
        const texts = [sent].flat().flatMap((text) => (split ? text.split(",") : [text]));
        const values = texts.length > MAX_ITEMS ? [undefined] : texts.map(read);
        return values.includes(undefined) ? undefined : (values as T[]);
      },
    },
  );
}

const ANY = textRule("a text", () => true);

/** Free text. */
export function text(description: string, example: string): Parameter<string> {
  return single(ANY, { type: "string", description, example });
}

/** Exact names, by comma or repetition. */
export function names(description: string, example: string): Parameter<readonly string[]> {
  const rule = { ...ANY, takes: "names, separated by commas" };
  return list(rule, { type: "string" }, { description, example: [example] }, true);
}

/** Exact names by repetition alone, because they may hold commas. */
function wholeNames(description: string, example: string): Parameter<readonly string[]> {
  const rule = { ...ANY, takes: "a name; repeat it for more" };
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

interface Bounds {
  readonly minimum: number;
  readonly maximum: number;
}

/** A whole number in plain decimal digits, within bounds. */
export function integer(
  description: string,
  { minimum, maximum }: Bounds,
  absent?: number,
): Parameter<number> {
  const rule = numberRule(`an integer from ${minimum} to ${maximum}`, /^-?\d{1,16}$/, minimum, maximum);
  const example = absent ?? Math.min(maximum, Math.max(minimum, 100));
  const options = { type: "integer", minimum, maximum, description, example };
  return single(rule, absent === undefined ? options : { ...options, default: absent });
}

/** A number in plain decimals (`12`, `12.5`), within bounds. */
export function decimal(description: string, { minimum, maximum }: Bounds): Parameter<number> {
  const takes = `a number from ${minimum} to ${maximum} in plain decimals`;
  const rule = numberRule(takes, /^-?\d{1,15}(\.\d{1,15})?$/, minimum, maximum);
  const example = Math.min(maximum, Math.max(minimum, 80));
  return single(rule, { type: "number", minimum, maximum, description, example });
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

const OFFSET = integer("Matches to leave out at the front.", { minimum: 0, maximum: 2 ** 53 - 1 }, 0);

/** `limit` and `offset` of the lists of the live snapshot, which answer everything without a limit. */
export const LIVE_PAGE = {
  limit: integer("Most rows to answer; all when absent.", { minimum: 1, maximum: 10_000 }),
  offset: OFFSET,
};

/** The page of a live list. */
export function livePage<F extends string>(
  query: { readonly sort?: F | `-${F}`; readonly limit?: number; readonly offset?: number },
  sort: Sort<F> | null = null,
) {
  return { sort: sortOf(query.sort) ?? sort, limit: query.limit ?? null, offset: query.offset ?? 0 };
}

/** Whether a query asks for everything; that answer is made of parts that are kept. */
export function isPlain(query: { readonly format?: string; readonly bom?: boolean }): boolean {
  const { format: _, bom: __, ...narrowed } = query;
  return Object.keys(narrowed).length === 0;
}

/** `limit` and `offset` of stored lists: 100 rows unless told otherwise. */
export const STORED_PAGE = {
  limit: integer("Most rows to answer.", { minimum: 1, maximum: 10_000 }, 100),
  offset: OFFSET,
};

/** `format` of a list: beats the Accept header. */
export const FORMAT = {
  format: word(["json", "csv"], "Format of the answer; beats the Accept header."),
  bom: flag("CSV begins with a byte-order mark, which Excel needs to read it as UTF-8."),
};
