import { Database, type SQLQueryBindings } from "bun:sqlite";
import { existsSync, readFileSync } from "node:fs";
import { MIGRATIONS, STATE_MIGRATIONS } from "../migrations/migrations.ts";
import type { Paths } from "./files.ts";
import { migrate, schemaVersion } from "./migrate.ts";
import { copyDatabase, openReader, tableNames } from "./read-only.ts";

type Row = Readonly<Record<string, SQLQueryBindings>>;

/** Rows by table, as they are in a database. */
type Rows = Readonly<Record<string, readonly Row[]>>;

/** Queries by the table that they read. */
type Queries = Readonly<Record<string, string>>;

/** So many lines of the audit trail are kept in both files: what changes keys and settings is rare. */
export const AUDIT_LINES = 1_000;

/** Rows of licmond.db that state.db has as well, and gives back: what the next polls do not bring again. */
export const GIVEN_BACK: Queries = {
  alerts: "SELECT * FROM alerts WHERE resolved_at IS NULL OR silenced_until > unixepoch() * 1000",
  alert_watches: "SELECT * FROM alert_watches",
  notifications: "SELECT * FROM notifications",
};

/** And the newest lines of the audit trail, which are given back to a new licmond.db alone: retention removes old ones. */
export const IN_BOTH: Queries = {
  ...GIVEN_BACK,
  events: `SELECT * FROM events WHERE source = 'audit' ORDER BY id DESC LIMIT ${AUDIT_LINES}`,
};

/** What is in state.db alone, and in a backup or a licmond.db of 0.1, which are one file of both. */
const IN_STATE: Queries = {
  api_keys: "SELECT * FROM api_keys",
  secrets: "SELECT * FROM secrets",
  event_marks: "SELECT * FROM event_marks WHERE name IN ('reserved', 'keys_told')",
};

export const IN_ONE_FILE: Queries = { ...IN_BOTH, ...IN_STATE };

/** Reads rows; tables that an older schema lacks are left out. */
export function readRows(sqlite: Database, queries: Queries): Rows {
  const names = tableNames(sqlite);
  const found = Object.entries(queries).filter(([name]) => names.includes(name));
  return Object.fromEntries(found.map(([name, query]) => [name, sqlite.query<Row, []>(query).all()]));
}

/** Inserts rows that are not there yet; columns that a table does not have are left out: another schema may have them. */
export function putRows(sqlite: Database, rows: Rows): void {
  for (const [name, list] of Object.entries(rows)) {
    const table = sqlite.query<{ name: string }, []>(`PRAGMA table_info("${name}")`).all();
    const columns = table.map((column) => column.name).filter((column) => column in (list[0] ?? {}));
    if (columns.length === 0) continue;
    const insert = sqlite.query<null, SQLQueryBindings[]>(
      `INSERT OR IGNORE INTO "${name}" (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`,
    );
    for (const row of list) insert.run(...columns.map((column) => row[column] ?? null));
  }
}

/** A state.db in memory, brought up to date: out of its bytes, or an empty one. */
export function stateOf(bytes: Uint8Array | null): Database {
  const sqlite = bytes === null ? new Database(":memory:") : Database.deserialize(bytes);
  migrate(sqlite, "state.db", STATE_MIGRATIONS);
  return sqlite;
}

/** A state.db in memory, brought up to date, with rows of one that has taken some steps. */
export function stateWith(rows: Rows, taken: typeof STATE_MIGRATIONS): Database {
  const sqlite = new Database(":memory:");
  migrate(sqlite, "state.db", taken);
  putRows(sqlite, rows);
  migrate(sqlite, "state.db", STATE_MIGRATIONS);
  return sqlite;
}

/**
 * Copies both databases, each as it is at one moment, into the one empty file `to`: a licmond.db that has the rows of
 * state.db as well. Others may work on them meanwhile. Throws StoreError.
 */
export function copyBoth({ history, state: statePath }: Paths, to: string): void {
  copyDatabase(history, to, "live");
  using copy = new Database(to, { readwrite: true, strict: true });
  // A licmond.db of before there was a state.db has all of it.
  if (!tableNames(copy).includes("key_uses")) return;
  using state = openReader(statePath);
  // The copy is thrown away unless it comes to its end, and is on the disk before it gets its name.
  copy.run("PRAGMA journal_mode = MEMORY");
  const tables = state.query<{ sql: string }, []>(
    "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name IN ('api_keys', 'secrets')",
  );
  for (const table of tables.all()) copy.run(table.sql);
  putRows(copy, readRows(state, IN_STATE));
}

/**
 * The state that a licmond.db brings along, in memory; null when it brings none. `sqlite` null = it cannot be read: then
 * the side copy that 0.1 kept of it counts. Throws what SQLite throws.
 */
export function stateIn(sqlite: Database | null, path: string): Database | null {
  const side = sideCopy(path);
  const rows = sqlite === null ? side : readRows(sqlite, IN_ONE_FILE);
  if (rows?.api_keys === undefined) return null;
  // Steps that licmond.db has yet to take change these rows, too.
  const ahead = MIGRATIONS.slice(sqlite === null ? 0 : schemaVersion(sqlite)).map(({ sql }) => sql);
  const next = STATE_MIGRATIONS.findIndex(({ sql }) => ahead.includes(sql));
  const state = stateWith(rows, next < 0 ? STATE_MIGRATIONS : STATE_MIGRATIONS.slice(0, next));
  // It was written before a revocation was answered.
  for (const row of side?.api_keys ?? []) revoke(state, row);
  return state;
}

/** Revokes the key of a row that says so. */
export function revoke(state: Database, { id, revoked_at: at }: Row): void {
  state.run("UPDATE api_keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL", [
    at ?? null,
    id ?? null,
  ]);
}

/** `licmond.db.vital` of 0.1: two lines of JSON, the first with the hash of the second. Null when it is not there or damaged. */
function sideCopy(path: string): Rows | null {
  if (!existsSync(`${path}.vital`)) return null;
  const [head = "", content = ""] = readFileSync(`${path}.vital`, "utf8").split("\n");
  const hash = new Bun.CryptoHasher("sha256").update(content).digest("hex");
  // JSON has no bytes: `{ "hex": … }`.
  const decode = (_: string, value: unknown) =>
    typeof value === "object" && value !== null && "hex" in value
      ? Buffer.from(String(value.hex), "hex")
      : value;
  return head.includes(`"sha256":"${hash}"`) ? (JSON.parse(content, decode) as Rows) : null;
}
