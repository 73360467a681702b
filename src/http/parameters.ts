import { type Parameter, REFUSED } from "./query.ts";

/** The kinds of query parameters that the API has. */

const MAX_ITEMS = 1000;

/** Free text; absent = null. */
export function text(description: string, example: string): Parameter<string | null> {
  return {
    description,
    schema: { type: "string" },
    example,
    repeatable: false,
    absent: null,
    takes: "a text",
    read: ([value = ""]) => value,
  };
}

/** Exact names, by comma or repetition; absent = null. */
export function names(description: string, example: string): Parameter<readonly string[] | null> {
  const takes = "names, separated by commas";
  return list(description, { type: "string" }, example, takes, true, (item) => item);
}

/** Exact names by repetition alone, because they may hold commas; absent = null. */
export function wholeNames(description: string, example: string): Parameter<readonly string[] | null> {
  const takes = "a name; repeat it for more";
  return list(description, { type: "string" }, example, takes, false, (item) => item);
}

/** Words of a closed vocabulary, by comma or repetition; absent = null. */
export function wordList<const W extends string>(
  vocabulary: readonly W[],
  description: string,
): Parameter<readonly W[] | null> {
  const takes = `${vocabulary.join(", ")} (one or more, separated by commas)`;
  const items = { type: "string", enum: vocabulary };
  return list(description, items, vocabulary[0] ?? "", takes, true, (item) => wordOf(vocabulary, item));
}

/** One word of a closed vocabulary; absent = null. */
export function word<const W extends string>(
  vocabulary: readonly W[],
  description: string,
): Parameter<W | null> {
  return {
    description,
    schema: { type: "string", enum: vocabulary },
    example: vocabulary[0],
    repeatable: false,
    absent: null,
    takes: vocabulary.length === 1 ? `${vocabulary[0]}` : `one of ${vocabulary.join(", ")}`,
    read: ([value = ""]) => wordOf(vocabulary, value),
  };
}

export function flag(description: string): Parameter<boolean | null> {
  return {
    description,
    schema: { type: "boolean" },
    example: true,
    repeatable: false,
    absent: null,
    takes: "true or false",
    read: ([value]) => (value === "true" ? true : value === "false" ? false : REFUSED),
  };
}

/** A whole number in plain decimal digits, within bounds. */
export function integer<A extends number | null>(
  description: string,
  { minimum, maximum, absent }: { minimum: number; maximum: number; absent: A },
): Parameter<number | A> {
  return {
    description,
    schema: { type: "integer", minimum, maximum, ...(absent !== null && { default: absent }) },
    example: absent ?? Math.min(maximum, Math.max(minimum, 100)),
    repeatable: false,
    absent,
    takes: `an integer from ${minimum} to ${maximum}`,
    read: ([value = ""]) => {
      if (!/^-?\d{1,16}$/.test(value)) return REFUSED;
      const number = Number(value);
      return number >= minimum && number <= maximum ? number : REFUSED;
    },
  };
}

/** A number in plain decimals (`12`, `12.5`), within bounds; absent = null. */
export function decimal(
  description: string,
  { minimum, maximum }: { minimum: number; maximum: number },
): Parameter<number | null> {
  return {
    description,
    schema: { type: "number", minimum, maximum },
    example: Math.min(maximum, Math.max(minimum, 80)),
    repeatable: false,
    absent: null,
    takes: `a number from ${minimum} to ${maximum} in plain decimals`,
    read: ([value = ""]) => {
      if (!/^-?\d{1,15}(\.\d{1,15})?$/.test(value)) return REFUSED;
      const number = Number(value);
      return number >= minimum && number <= maximum ? number : REFUSED;
    },
  };
}

export interface Sort<F extends string> {
  readonly field: F;
  readonly descending: boolean;
}

/** `field` or `-field`; absent = null. */
export function sortBy<const F extends string>(fields: readonly F[]): Parameter<Sort<F> | null> {
  return {
    description: "Field to sort by, `-` before it for descending. Nulls come last, ties go by identity.",
    schema: { type: "string", enum: fields.flatMap((field) => [field, `-${field}`]) },
    example: `-${fields[0]}`,
    repeatable: false,
    absent: null,
    takes: `one of ${fields.join(", ")}, with - before it for descending`,
    read: ([value = ""]) => {
      const descending = value.startsWith("-");
      const field = wordOf(fields, descending ? value.slice(1) : value);
      return field === REFUSED ? REFUSED : { field, descending };
    },
  };
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

function list<T>(
  description: string,
  items: Readonly<Record<string, unknown>>,
  example: string,
  takes: string,
  split: boolean,
  read: (item: string) => T | typeof REFUSED,
): Parameter<readonly T[] | null> {
  return {
    description,
    schema: { type: "array", items, maxItems: MAX_ITEMS },
    example: [example],
    repeatable: true,
    absent: null,
    takes,
    read(values) {
      const sent = split ? values.flatMap((value) => value.split(",")) : values;
      if (sent.length > MAX_ITEMS) return REFUSED;
      const wanted: T[] = [];
      for (const item of sent) {
        const value = read(item);
        if (value === REFUSED) return REFUSED;
        wanted.push(value);
      }
      return wanted;
    },
  };
}

function wordOf<W extends string>(vocabulary: readonly W[], value: string): W | typeof REFUSED {
  return vocabulary.find((known) => known === value) ?? REFUSED;
}
