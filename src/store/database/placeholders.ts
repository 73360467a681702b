import { getTableColumns, type Placeholder, sql, type Table } from "drizzle-orm";

/** A placeholder for each column of a table, under the column's name: the values of a prepared insert. */
export function placeholdersOf<T extends Table>(table: T) {
  const names = Object.keys(getTableColumns(table));
  return Object.fromEntries(names.map((name) => [name, sql.placeholder(name)])) as {
    [Name in keyof T["_"]["columns"] & string]: Placeholder<Name>;
  };
}
