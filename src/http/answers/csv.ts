import type { Schema } from "../../domain/text-types.ts";
import type { Format } from "./answer.ts";

/** A column: its heading and the way to its value, e.g. `counts.used`. */
export interface Column {
  readonly heading: string;
  readonly path: readonly string[];
}

/** Columns of a record by its schema: nested objects one level deep as `a.b`, nested lists left out. */
export function columnsOf(schema: Schema): readonly Column[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, { type, properties }]) => {
    if (type === "array") return [];
    const paths = properties === undefined ? [[name]] : Object.keys(properties).map((inner) => [name, inner]);
    return paths.map((path) => ({ heading: path.join("."), path }));
  });
}

/** RFC 4180 with CRLF, heading line first; null is an empty cell. */
export function toCsv(rows: readonly object[], columns: readonly Column[], format: Format): string {
  return csvHeading(columns, format === "csv-bom") + csvRows(rows, columns);
}

/** The heading line alone, for what is written piece by piece. `bom`: behind a byte-order mark. */
export function csvHeading(columns: readonly Column[], bom: boolean): string {
  return `${bom ? "\uFEFF" : ""}${columns.map(({ heading }) => heading).join(",")}\r\n`;
}

/** Rows without a heading. */
export function csvRows(rows: readonly object[], columns: readonly Column[]): string {
  return rows.map((row) => `${columns.map(({ path }) => cell(valueAt(row, path))).join(",")}\r\n`).join("");
}

function valueAt(row: object, path: readonly string[]): unknown {
  return path.reduce<unknown>((value, name) => (value as Record<string, unknown> | null)?.[name], row);
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  const text = typeof value === "string" ? value : JSON.stringify(value);
  // A spreadsheet would run what begins like a formula: OWASP, "CSV Injection".
  const harmless = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
