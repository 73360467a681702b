import type { Database } from "bun:sqlite";
import { statSync } from "node:fs";
import { assertWhole } from "../backup/examine.ts";
import { openReader, tableNames } from "../backup/untouched.ts";
import { assertOurs } from "../migrate.ts";
import type { Migration } from "../migrations.ts";
import { asStoreError, corrupt, errorCode } from "../store-error.ts";
import { headerFault } from "./header.ts";

/** A file up to this size is read whole: some 250 MB are read in a second. */
const READ_WHOLE_BYTES = 32 * 1024 * 1024;

/** Tables that grow with time or work: of these only the edges are looked at. What is left is small at every site. */
const LARGE = new Set([
  "events",
  "sessions",
  "imported_sessions",
  "samples",
  "sample_days",
  "rollup_hours",
  "rollup_days",
  "session_days",
  "site_days",
  "denials",
  "alerts",
]);

/**
 * Looks for damage before the daemon writes anything, for a bounded time: a small file is read whole, of a large one
 * the header, the small tables (keys, pictures, open sessions' servers …) and the first and last row of the large ones.
 * `whole` = read all of it, however long that takes. Changes nothing. Damage that lies elsewhere is met by a query later.
 *
 * Throws StoreError `CORRUPT`, `FOREIGN`, `NEWER`.
 */
export function checkBeforeOpening(
  path: string,
  migrations: readonly Migration[],
  whole: boolean,
  readWholeBytes = READ_WHOLE_BYTES,
): void {
  const fault = headerFault(path);
  if (fault !== null) throw corrupt(fault);
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  // With a journal of a transaction that was cut off, SQLite must first roll it back: it is looked at when it is opened.
  if (size === 0 || statSync(`${path}-journal`, { throwIfNoEntry: false }) !== undefined) return;
  let sqlite: Database | null = null;
  try {
    sqlite = openReader(path);
    assertOurs(sqlite, path, migrations);
    if (whole || size <= readWholeBytes) assertWhole(sqlite, path);
    else lookAtParts(sqlite, path);
  } catch (error) {
    const known = asStoreError(error, path);
    if (known === null) {
      // Tables and rows that are not as the schema has them; anything else is a bug.
      if (errorCode(error)?.startsWith("SQLITE_") !== true) throw error;
      throw corrupt(`The database ${path} is damaged`, error);
    }
    // What this connection may not do, the next one says better.
    if (known.code === "CORRUPT" || known.code === "FOREIGN" || known.code === "NEWER") throw known;
  } finally {
    sqlite?.close();
  }
}

function lookAtParts(sqlite: Database, path: string): void {
  for (const name of tableNames(sqlite)) {
    if (!LARGE.has(name)) {
      assertWhole(sqlite, path, name);
      continue;
    }
    const keys = sqlite
      .query<{ name: string }, []>(`SELECT name FROM pragma_table_info('${name}') WHERE pk > 0 ORDER BY pk`)
      .all()
      .map((column) => `"${column.name}"`);
    if (keys.length === 0) continue;
    for (const direction of ["ASC", "DESC"]) {
      const order = keys.map((key) => `${key} ${direction}`).join(", ");
      sqlite.query(`SELECT * FROM "${name}" ORDER BY ${order} LIMIT 1`).get();
    }
  }
}
