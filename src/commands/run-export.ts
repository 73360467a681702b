import type { Schema } from "../domain/text-types.ts";
import { columnsOf, csvHeading, csvRows } from "../http/answers/csv.ts";
import { createExport, type ExportQuery } from "../store/export-rows.ts";
import type { ExportTable } from "../store/export-tables.ts";
import { withDatabase } from "../store/read-only.ts";
import { countOf } from "./config-option.ts";
import { fileOutput, type Output, standardOutput } from "./export-output.ts";
import type { CommandIo } from "./io.ts";
import { createProgress } from "./progress.ts";

export interface WantedExport {
  readonly table: ExportTable;
  readonly format: "csv" | "json";
  /** CSV begins with a byte-order mark. */
  readonly bom: boolean;
  /** Path; null = stdout. */
  readonly output: string | null;
  readonly directory: string;
  readonly query: ExportQuery;
}

/** Writes a table piece by piece. Throws StoreError, or the error of the file system. */
export function runExport(io: CommandIo, wanted: WantedExport): Promise<void> {
  const { table, format, bom, output: path, directory, query } = wanted;
  return withDatabase(directory, async (sqlite) => {
    const { record, slices } = createExport(sqlite, table, query);
    const writer = format === "csv" ? csvWriter(record, bom) : jsonWriter();
    const output: Output = path === null ? standardOutput(io) : await fileOutput(path);
    // Where rows and bar would share a terminal, the rows stand alone.
    const bar = path !== null || !io.terminal.out ? createProgress(`Exporting ${table}`, io) : null;
    let count = 0;
    try {
      await output.write(writer.head);
      for (const { rows, done } of slices()) {
        if (rows.length > 0) await output.write(writer.rows(rows));
        count += rows.length;
        bar?.at(done);
      }
      await output.write(writer.tail());
      await output.finish();
    } catch (error) {
      await output.abandon();
      throw error;
    }
    bar?.end(`${countOf(count, "row")} of ${table}${path === null ? "" : ` in ${path}`}`);
  });
}

interface Writer {
  readonly head: string;
  rows(rows: readonly object[]): string;
  tail(): string;
}

function csvWriter(schema: Schema, bom: boolean): Writer {
  const columns = columnsOf(schema);
  return { head: csvHeading(columns, bom), rows: (rows) => csvRows(rows, columns), tail: () => "" };
}

/** An array with a row a line. */
function jsonWriter(): Writer {
  let some = false;
  return {
    head: "[",
    rows(rows) {
      const text = rows.map((row) => JSON.stringify(row)).join(",\n");
      const joint = some ? ",\n" : "\n";
      some = true;
      return joint + text;
    },
    tail: () => (some ? "\n]\n" : "]\n"),
  };
}
