import type { Database, SQLQueryBindings } from "bun:sqlite";
import type { VitalRow } from "./rows.ts";

/**
 * Inserts a row that another schema may have written: columns that the table does not have are left out. Answers
 * whether it is in, and was not before. Throws what SQLite throws.
 */
export function insertRow(
  sqlite: Database,
  table: string,
  row: VitalRow,
  conflict: "IGNORE" | "REPLACE",
): boolean {
  const columns = sqlite
    .query<{ name: string }, []>(`PRAGMA table_info("${table}")`)
    .all()
    .filter(({ name }) => Object.hasOwn(row, name));
  const list = columns.map(({ name }) => `"${name}"`).join(", ");
  const values = columns.map(() => "?").join(", ");
  return (
    sqlite
      .query<null, SQLQueryBindings[]>(`INSERT OR ${conflict} INTO "${table}" (${list}) VALUES (${values})`)
      .run(...columns.map(({ name }) => row[name] ?? null)).changes > 0
  );
}
