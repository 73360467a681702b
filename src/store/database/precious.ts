import { Database, type SQLQueryBindings } from "bun:sqlite";
import { existsSync, readFileSync } from "node:fs";
import { MIGRATIONS, STATE_MIGRATIONS } from "../migrations/migrations.ts";
import type { Paths } from "./files.ts";
import { migrate, schemaVersion } from "./migrate.ts";
import { copyDatabase, openReader, tableNames } from "./read-only.ts";

type Row = Readonly<Record<string, SQLQueryBindings>>;

/** Rows of a database by table. */
type Rows = Readonly<Record<string, readonly Row[]>>;

/** Queries by the table that they read. */
type Queries = Readonly<Record<string, string>>;

/** Number of audit lines kept in both files; changes of keys and settings are rare. */
export const AUDIT_LINES = 1_000;

/**
 * Rows of licmond.db with a second copy in state.db, from which they are restored: the next polls do not
 * recreate them.
 */
export const GIVEN_BACK: Queries = {
  alerts: "SELECT * FROM alerts WHERE resolved_at IS NULL OR silenced_until > unixepoch() * 1000",
  alert_watches: "SELECT * FROM alert_watches",
  notifications: "SELECT * FROM notifications",
};

/**
 * Also the newest audit lines, which are restored only to a new licmond.db, because retention deletes old
 * ones.
 */
export const IN_BOTH: Queries = {
  ...GIVEN_BACK,
  events: `SELECT * FROM events WHERE source = 'audit' ORDER BY id DESC LIMIT ${AUDIT_LINES}`,
};

/** Rows that are only in state.db; a backup or a licmond.db of 0.1 contains both files in one. */
const IN_STATE: Queries = {
  api_keys: "SELECT * FROM api_keys",
  secrets: "SELECT * FROM secrets",
  event_marks: "SELECT * FROM event_marks WHERE name IN ('reserved', 'keys_told')",
};

export const IN_ONE_FILE: Queries = { ...IN_BOTH, ...IN_STATE };

/** Reads rows, skipping tables that an older schema lacks. */
export function readRows(sqlite: Database, queries: Queries): Rows {
  const names = tableNames(sqlite);
  const found = Object.entries(queries).filter(([name]) => names.includes(name));
  return Object.fromEntries(found.map(([name, query]) => [name, sqlite.query<Row, []>(query).all()]));
}

/**
 * Inserts rows that do not exist yet, skipping columns that the table lacks, because the schemas may differ.
 */
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

/** Returns an up-to-date state.db in memory, from its bytes or empty. */
export function stateOf(bytes: Uint8Array | null): Database {
  const sqlite = bytes === null ? new Database(":memory:") : Database.deserialize(bytes);
  migrate(sqlite, "state.db", STATE_MIGRATIONS);
  return sqlite;
}

/** Returns an up-to-date state.db in memory, with rows of one that has taken some migrations. */
export function stateWith(rows: Rows, taken: typeof STATE_MIGRATIONS): Database {
  const sqlite = new Database(":memory:");
  migrate(sqlite, "state.db", taken);
  putRows(sqlite, rows);
  migrate(sqlite, "state.db", STATE_MIGRATIONS);
  return sqlite;
}

/**
 * Copies both databases into the one empty file `to`, each as of one moment: a licmond.db that also has the
 * rows of state.db. They may be in use. Throws StoreError.
 */
export function copyBoth({ history, state: statePath }: Paths, to: string): void {
  copyDatabase(history, to, "live");
  using copy = new Database(to, { readwrite: true, strict: true });
  // A licmond.db from before state.db contains everything.
  if (!tableNames(copy).includes("key_uses")) return;
  using state = openReader(statePath);
  // The copy is discarded unless it completes, and is synced before it gets its name.
  copy.run("PRAGMA journal_mode = MEMORY");
  const tables = state.query<{ sql: string }, []>(
    "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name IN ('api_keys', 'secrets')",
  );
  for (const table of tables.all()) copy.run(table.sql);
  putRows(copy, readRows(state, IN_STATE));
}

/**
 * Returns the state contained in a licmond.db, in memory; null if it has none. If `sqlite` is null
 * (unreadable), the side copy of 0.1 is used. Throws SQLite's errors.
 */
export function stateIn(sqlite: Database | null, path: string): Database | null {
  const side = sideCopy(path);
  const rows = sqlite === null ? side : readRows(sqlite, IN_ONE_FILE);
  if (rows?.api_keys === undefined) return null;
  // Pending migrations of licmond.db change these rows, too.
  const ahead = MIGRATIONS.slice(sqlite === null ? 0 : schemaVersion(sqlite)).map(({ sql }) => sql);
  const next = STATE_MIGRATIONS.findIndex(({ sql }) => ahead.includes(sql));
  const state = stateWith(rows, next < 0 ? STATE_MIGRATIONS : STATE_MIGRATIONS.slice(0, next));
  // 0.1 wrote the side copy before it confirmed a revocation.
  for (const row of side?.api_keys ?? []) revoke(state, row);
  return state;
}

/** Revokes the key of a revoked row. */
export function revoke(state: Database, { id, revoked_at: at }: Row): void {
  state.run("UPDATE api_keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL", [
    at ?? null,
    id ?? null,
  ]);
}

/**
 * Reads `licmond.db.vital` of 0.1: two lines of JSON, the first with the hash of the second. Null if missing
 * or damaged.
 */
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
