import type { TSchema } from "@sinclair/typebox";
import type { Schema } from "../../domain/text-types.ts";
import { type Answer, encode, jsonAnswer } from "./answer.ts";
import { columnsOf, toCsv } from "./csv.ts";
import type { Format } from "./format.ts";

/** Rows that were sorted and cut where they came from. */
export interface Rows {
  readonly plural: string;
  readonly record: TSchema;
  readonly rows: readonly object[];
  /** Matches before limit and offset. */
  readonly total: number;
  readonly limit: number | null;
  readonly offset: number;
  /** What stands beside the list; JSON alone. */
  readonly beside?: object;
  /** Columns of the CSV where the record's are too many. */
  readonly columns?: readonly string[];
}

export function rowsAnswer(answer: Rows, format: Format): Answer {
  const { plural, record, rows, total, limit, offset, beside } = answer;
  if (format === "json") {
    return jsonAnswer(encode(JSON.stringify({ [plural]: rows, total, limit, offset, ...beside })));
  }
  const schema: Schema = record;
  const columns = columnsOf(schema).filter(
    ({ heading }) => answer.columns === undefined || answer.columns.includes(heading),
  );
  return {
    body: encode(toCsv(rows, columns, format)),
    headers: {
      "content-type": "text/csv; charset=utf-8",
      "content-disposition": `attachment; filename="licmond-${plural}.csv"`,
      "x-total-count": String(total),
    },
  };
}

/** The 200 of a list whose answers change with the clock: they have no tag. */
export function withoutTag<Doc extends { readonly headers: Readonly<Record<string, string>> }>(doc: Doc) {
  const { ETag: _, ...headers } = doc.headers;
  return { ...doc, headers };
}
