import { type TArray, type TObject, type TProperties, type TSchema, Type } from "@sinclair/typebox";
import { nullable } from "../../domain/records.ts";
import type { Schema } from "../../domain/text-types.ts";
import { type Sort, sortOf } from "../query.ts";
import { type Answer, encode, type Format, type Formatted, valueAnswer } from "./answer.ts";
import { columnsOf, toCsv } from "./csv.ts";

type Field<R extends object> = keyof R & string;

/** What the lists of one kind of record have in common. */
export interface ListKind<R extends object> {
  /** `features` in `{ "features": [...] }`. */
  readonly plural: string;
  readonly record: TSchema;
  /** Fields that name a row, for ties. */
  readonly identity: readonly Field<R>[];
  /** How rows stand when the query says nothing; as they came when absent. */
  readonly sort?: Sort<Field<R>>;
}

interface ListQuery<R extends object> {
  readonly sort?: Field<R> | `-${Field<R>}`;
  readonly limit?: number;
  readonly offset?: number;
}

/** Sorts, cuts and writes out the rows that matched: `{ <plural>, total, limit, offset }`, or CSV. */
export function listAnswer<R extends object>(
  kind: ListKind<R>,
  matched: readonly R[],
  query: ListQuery<R>,
  format: Format,
): Answer {
  const { limit = null, offset = 0 } = query;
  const sort = sortOf(query.sort) ?? kind.sort;
  const sorted = sort === undefined ? matched : ordered(matched, sort, kind.identity);
  const rows = sorted.slice(offset, offset + (limit ?? sorted.length));
  return rowsAnswer(kind.plural, kind.record, rows, matched.length, { limit, offset, format });
}

/** A page, and the format in which it was asked for. */
interface Page extends Formatted {
  readonly limit: number | null;
  readonly offset: number;
}

/**
 * Writes out a page of rows that are sorted and cut already; `total` matched. `beside` stands beside the list in JSON;
 * `columns` are those of the CSV, if not all.
 */
export function rowsAnswer(
  plural: string,
  record: TSchema,
  rows: readonly object[],
  total: number,
  { limit, offset, format }: Page,
  beside: object = {},
  columns: readonly string[] | null = null,
): Answer {
  if (format === "json") return valueAnswer({ [plural]: rows, total, limit, offset, ...beside });
  const written = columnsOf(record as Schema).filter(({ heading }) => columns?.includes(heading) ?? true);
  return {
    body: encode(toCsv(rows, written, format)),
    headers: {
      "content-type": "text/csv; charset=utf-8",
      "content-disposition": `attachment; filename="licmond-${plural}.csv"`,
      "x-total-count": String(total),
    },
  };
}

const PAGE = {
  total: Type.Integer({ minimum: 0, description: "Matches before limit and offset" }),
  limit: nullable(Type.Integer({ minimum: 1 })),
  offset: Type.Integer({ minimum: 0 }),
};

/** The 200 of a list, for the document and for typed clients. `beside` is what stands beside the rows. */
export function listDoc<P extends string, R extends TSchema, B extends TProperties = Record<never, never>>(
  plural: P,
  record: R,
  description: string,
  beside?: B,
) {
  const fields = { [plural]: Type.Array(record), ...PAGE, ...beside };
  // To the compiler a computed name is any text.
  const schema = Type.Object(fields, { title: `${record.title}List` }) as unknown as TObject<
    { [K in P]: TArray<R> } & typeof PAGE & B
  >;
  return csvToo(description, schema);
}

/** A 200 that can be had as CSV too. */
export function csvToo<S extends TSchema>(description: string, schema: S) {
  return {
    description,
    schema,
    // The same schema: a media type says how the data is written. A text here would make every generated client's
    // answer a union of the list and a text, whose rows it cannot read.
    content: { "text/csv": { schema } },
    headers: {
      "X-Total-Count": "Matches (CSV only)",
      "Content-Disposition": "File name (CSV only)",
    },
  };
}

export const NOT_MODIFIED = { description: "The answer with this tag is still right" };

/** Fields of a record that can be sorted by: those with one plain value. */
export function sortable<R extends object>(schema: Schema): readonly Field<R>[] {
  return Object.entries(schema.properties ?? {})
    .filter(([, { type }]) => ["string", "integer", "number", "boolean"].includes(type ?? ""))
    .map(([name]) => name as Field<R>);
}

/** A sorted copy: nulls last whichever way it goes, ties by identity, the rest as it came. */
export function ordered<R extends object>(
  rows: readonly R[],
  { field, descending }: Sort<Field<R>>,
  identity: readonly Field<R>[],
): readonly R[] {
  const sign = descending ? -1 : 1;
  return rows.toSorted((a, b) => {
    let order = compare(a[field], b[field], sign);
    for (let tie = 0; order === 0 && tie < identity.length; tie++) {
      const name = identity[tie] as Field<R>;
      order = compare(a[name], b[name], 1);
    }
    return order;
  });
}

function compare(a: unknown, b: unknown, sign: 1 | -1): number {
  if (a === b) return 0;
  if (a === null || a === undefined) return 1;
  if (b === null || b === undefined) return -1;
  return (a as string | number) < (b as string | number) ? -sign : sign;
}
