import { getTableColumns, getTableName } from "drizzle-orm";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";

/**
 * Returns SQL for prepared statements on a table of `schema.ts`, and functions that convert between stored
 * rows and the declared row type (booleans, bytes, JSON).
 */
export function tableOf<Table extends SQLiteTable>(table: Table) {
  type Row = Table["$inferSelect"];
  const columns = Object.entries(getTableColumns(table));
  const convert = (row: Readonly<Record<string, unknown>>, to: "mapFromDriverValue" | "mapToDriverValue") =>
    Object.fromEntries(
      columns.map(([field, column]) => [field, row[field] == null ? null : column[to](row[field])]),
    );
  const names = columns.map(([, { name }]) => name).join(", ");
  const parameters = columns.map(([field]) => `$${field}`).join(", ");
  return {
    /** Columns for a SELECT, named like the fields of a row. */
    columns: columns.map(([field, { name }]) => `${name} AS "${field}"`).join(", "),
    /** INTO clause of an INSERT, with a named parameter per field. */
    into: `INTO ${getTableName(table)} (${names}) VALUES (${parameters})`,
    row: (selected: unknown) => convert(selected as Record<string, unknown>, "mapFromDriverValue") as Row,
    values: (row: Row) => convert(row, "mapToDriverValue") as Record<string, string>,
  };
}
