import type { TSchema } from "@sinclair/typebox";
import { listBeside } from "../../domain/history-records.ts";
import type { Schema } from "../../domain/text-types.ts";
import type { Sort } from "../parameters.ts";
import { type Answer, encode, jsonAnswer } from "./answer.ts";
import { columnsOf, toCsv } from "./csv.ts";
import type { Format } from "./format.ts";
import { ordered } from "./order.ts";

/** What the lists of one kind of record have in common. */
export interface ListKind<R extends object> {
  /** `features` in `{ "features": [...] }`. */
  readonly plural: string;
  readonly record: TSchema;
  /** Fields that name a row, for ties. */
  readonly identity: readonly (keyof R & string)[];
}

export interface Page<R extends object> {
  readonly sort: Sort<keyof R & string> | null;
  readonly limit: number | null;
  readonly offset: number;
}

/** Sorts, cuts and writes out the rows that matched: `{ <plural>, total, limit, offset }`, or CSV. */
export function listAnswer<R extends object>(
  kind: ListKind<R>,
  matched: readonly R[],
  { sort, limit, offset }: Page<R>,
  format: Format,
): Answer {
  const sorted = sort === null ? matched : ordered(matched, sort, kind.identity);
  const rows =
    limit === null && offset === 0
      ? sorted
      : sorted.slice(offset, limit === null ? undefined : offset + limit);
  const total = matched.length;
  if (format === "json") {
    return jsonAnswer(encode(JSON.stringify({ [kind.plural]: rows, total, limit, offset })));
  }
  const schema: Schema = kind.record;
  return {
    body: encode(toCsv(rows, columnsOf(schema), format)),
    headers: {
      "content-type": "text/csv; charset=utf-8",
      "content-disposition": `attachment; filename="licmond-${kind.plural}.csv"`,
      "x-total-count": String(total),
    },
  };
}

/** The 200 of a list, for the document. */
export function listDoc<P extends string, R extends TSchema>(plural: P, record: R, description: string) {
  return {
    description,
    schema: listBeside(plural, record, {}),
    content: {
      "text/csv": {
        schema: { type: "string", description: "RFC 4180 with a heading line; nested lists are left out" },
      },
    },
    headers: {
      ETag: "Tag of the snapshot and the query",
      "X-Total-Count": "Matches (CSV only)",
      "Content-Disposition": "File name (CSV only)",
    },
  };
}

export const NOT_MODIFIED = { description: "The answer with this tag is still right" };
