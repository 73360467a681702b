import { type TProperties, type TSchema, Type } from "@sinclair/typebox";
import { type SortBy, sortedBy } from "../../domain/order.ts";
import { nullable, OfHub, OfSite } from "../../domain/records.ts";
import type { Schema } from "../../domain/text-types.ts";
import { type Answer, encode, type Formatted, type OfSite as SiteOfRows, valueAnswer } from "./answer.ts";

export function sortOf<F extends string>(sort: F | `-${F}` | undefined): SortBy<F> | null {
  if (sort === undefined) return null;
  const descending = sort.startsWith("-");
  return { field: (descending ? sort.slice(1) : sort) as F, descending };
}

type Field<R extends object> = keyof R & string;

export interface ListKind<R extends object> {
  /** Name of the list in the answer, e.g. `features` in `{ "features": [...] }`. */
  readonly plural: string;
  readonly record: TSchema;
  /** Fields that identify a row and break ties. */
  readonly identity: readonly Field<R>[];
  readonly sort?: SortBy<Field<R>>;
}

interface ListQuery<R extends object> {
  readonly sort?: Field<R> | `-${Field<R>}`;
  readonly limit?: number;
  readonly offset?: number;
}

/** Sorts, pages and formats matched rows as `{ <plural>, total, limit, offset }` or CSV. */
export function listAnswer<R extends object>(
  kind: ListKind<R>,
  matched: readonly R[],
  query: ListQuery<R>,
  form: Formatted,
): Answer {
  const { limit = null, offset = 0 } = query;
  const sort = sortOf(query.sort) ?? kind.sort;
  const sorted = sort === undefined ? matched : sortedBy(matched, sort, ...kind.identity);
  const rows = sorted.slice(offset, offset + (limit ?? sorted.length));
  return rowsAnswer(kind.plural, kind.record, rows, matched.length, { ...form, limit, offset });
}

interface Page extends Formatted {
  readonly limit: number | null;
  readonly offset: number;
}

/**
 * Formats a page of sorted rows. `total` is the number of rows that matched. `beside` has further fields of
 * the JSON answer. `columns` are the columns of the CSV, if not all.
 */
export function rowsAnswer(
  plural: string,
  record: TSchema,
  rows: readonly object[],
  total: number,
  { limit, offset, format, ofSite }: Page,
  beside: object = {},
  columns: readonly string[] | null = null,
): Answer {
  const sited = hasSite(record) ? rows.map((row) => withSite(row, ofSite)) : rows;
  if (format === "json") return valueAnswer({ [plural]: sited, total, limit, offset, ...beside });
  const written = columnsOf(record, ofSite).filter((path) => columns?.includes(headingOf(path)) ?? true);
  return {
    body: encode(csvHeading(written, format === "csv-bom") + csvRows(sited, written)),
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

/** Documents the 200 answer of a list. `beside` has further fields next to the rows. */
export function listDoc(plural: string, record: TSchema, description: string, beside?: TProperties) {
  const fields = { [plural]: Type.Array(record), ...PAGE, ...beside };
  return csvToo(description, Type.Object(fields, { title: `${record.title}List` }));
}

/** Documents a 200 answer that is also available as CSV. */
export function csvToo(description: string, schema: TSchema) {
  return {
    description,
    schema,
    // Use the same schema for CSV: with a string type, generated clients would return a union of list and
    // text, whose rows cannot be read.
    content: { "text/csv": { schema } },
    headers: { "X-Total-Count": "Matches (CSV only)", "Content-Disposition": "File name (CSV only)" },
  };
}

export const NOT_MODIFIED = { description: "The answer with this tag is still current" };

/** Returns the fields of a record that rows can be sorted by: those with a plain value. */
export function sortable<R extends object>(schema: Schema): readonly Field<R>[] {
  return Object.entries(schema.properties ?? {})
    .filter(
      ([, field]) =>
        !isOfFleet(field) && ["string", "integer", "number", "boolean"].includes(field.type ?? ""),
    )
    .map(([name]) => name as Field<R>);
}

/** Path to the value of a column, e.g. `counts.used`. */
type Column = readonly string[];

const isOfFleet = (field: Schema) => field === OfSite.site || field === OfHub.siteId;

const hasSite = ({ properties }: Schema) => properties?.site === OfSite.site;

/**
 * Adds the site to a row. Does not change rows that already have a site, or a hub's rows that belong to no
 * server.
 */
export function withSite<R extends object>(row: R, ofSite: SiteOfRows): R & { site?: string } {
  if (ofSite === undefined || "site" in row) return row;
  const { server } = row as { readonly server?: string | null };
  const site = ofSite ?? (server?.includes(":") ? server.slice(0, server.indexOf(":")) : null);
  return site === null ? row : { site, ...row };
}

/**
 * Returns the columns of a record's schema: nested objects one level deep as `a.b`, without lists. `ofSite`
 * decides whether the columns for the site and for the id at the site are included.
 */
export function columnsOf(schema: Schema, ofSite?: SiteOfRows): readonly Column[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const { type, properties } = field;
    if (field === OfSite.site && ofSite === undefined) return [];
    if (field === OfHub.siteId && ofSite !== null) return [];
    if (type === "array") return [];
    return properties === undefined ? [[name]] : Object.keys(properties).map((inner) => [name, inner]);
  });
}

const headingOf = (path: Column) => path.join(".");

/** Returns the header line (RFC 4180, with CRLF). `bom` adds a byte-order mark. */
export function csvHeading(columns: readonly Column[], bom: boolean): string {
  return `${bom ? "\uFEFF" : ""}${columns.map(headingOf).join(",")}\r\n`;
}

/** Null becomes an empty cell. */
export function csvRows(rows: readonly object[], columns: readonly Column[]): string {
  return rows.map((row) => `${columns.map((path) => cell(valueAt(row, path))).join(",")}\r\n`).join("");
}

function valueAt(row: object, path: Column): unknown {
  return path.reduce<unknown>((value, name) => (value as Record<string, unknown> | null)?.[name], row);
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  const text = typeof value === "string" ? value : JSON.stringify(value);
  // Spreadsheets run text that looks like a formula (OWASP, "CSV Injection").
  const harmless = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
