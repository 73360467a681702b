import { Database, type SQLQueryBindings } from "bun:sqlite";
import { existsSync, readFileSync } from "node:fs";
import { ALERTS_MOVED, STATE_MIGRATIONS } from "../migrations/migrations.ts";
import type { Paths } from "./files.ts";
import { APPLICATION_ID, migrate, schemaVersion } from "./migrate.ts";
import { copyDatabase, openReader, tableNames } from "./read-only.ts";

type Row = Readonly<Record<string, SQLQueryBindings>>;

type Rows = Readonly<Record<string, readonly Row[]>>;

type Queries = Readonly<Record<string, string>>;

/**
 * Number of the newest audit lines that are also stored in state.db, from where a new licmond.db gets them.
 * Changes of keys and settings are rare, so this number covers a long time.
 */
export const AUDIT_LINES = 1_000;
export const AUDIT: Queries = {
  events: `SELECT * FROM events WHERE source = 'audit' ORDER BY id DESC LIMIT ${AUDIT_LINES}`,
};

const KEYS: Queries = {
  api_keys: "SELECT * FROM api_keys",
  secrets: "SELECT * FROM secrets",
  event_marks: "SELECT * FROM event_marks WHERE name IN ('reserved', 'keys_told')",
};

/** Rows that licmond.db contained before schema 34. */
export const ALERTS: Queries = {
  alerts: "SELECT * FROM alerts",
  alert_watches: "SELECT * FROM alert_watches",
  alert_baselines: "SELECT * FROM alert_baselines",
  notifications: "SELECT * FROM notifications",
};

const IN_BACKUP: Queries = { ...KEYS, ...ALERTS };

/**
 * Rows that the copy of state.db contains. The copy is rewritten often, so ended alerts are left out,
 * except for silenced ones and the one with the highest id.
 */
export const IN_COPY: Queries = {
  ...KEYS,
  ...ALERTS,
  ...AUDIT,
  event_marks: "SELECT * FROM event_marks",
  sign_ins: "SELECT * FROM sign_ins",
  alerts: `SELECT * FROM alerts WHERE resolved_at IS NULL OR silenced_until > unixepoch() * 1000
     OR id = (SELECT max(id) FROM alerts)`,
};

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

export function stateOf(bytes: Uint8Array | null): Database {
  const sqlite = bytes === null ? new Database(":memory:") : Database.deserialize(bytes);
  migrate(sqlite, "state.db", STATE_MIGRATIONS);
  return sqlite;
}

/**
 * Replaces the alerts of `state` with those of the state.db at `path`. If the file at `path` has an older
 * schema, its alerts are in licmond.db, so the alerts of `state` are only deleted.
 */
export function replaceAlerts(state: Database, path: string): void {
  for (const table of Object.keys(ALERTS)) state.run(`DELETE FROM ${table}`);
  using present = openReader(path);
  if (schemaVersion(present) === STATE_MIGRATIONS.length) moveAlerts(state, path);
}

/**
 * Moves the alerts of an older licmond.db at `path` into an up-to-date state.db, and waits for the disk.
 * Rows with the same key in state.db are replaced. Can be repeated.
 */
export function moveAlerts(state: Database, path: string): void {
  state.run("PRAGMA synchronous = FULL");
  state.run("ATTACH ? AS history", [path]);
  try {
    const copy = (table: string) =>
      void state.run(`INSERT OR REPLACE INTO main.${table} SELECT * FROM history.${table}`);
    state.transaction(() => Object.keys(ALERTS).forEach(copy)).immediate();
  } finally {
    state.run("DETACH history");
    state.run("PRAGMA synchronous = NORMAL");
  }
}

/** Writes the rows of {@link IN_COPY} to the empty file `to`. */
export function copyState(sqlite: Database, to: string): void {
  const made = sqlite
    .query<{ sql: string }, []>("SELECT sql FROM sqlite_schema WHERE sql LIKE 'CREATE %'")
    .all();
  sqlite.run("ATTACH ? AS copy", [to]);
  try {
    // Safe without a journal: the caller discards an incomplete copy, and syncs a complete copy before
    // renaming it.
    sqlite.run("PRAGMA copy.journal_mode = OFF; PRAGMA copy.synchronous = OFF");
    sqlite.transaction(() => {
      for (const { sql } of made)
        if (!sql.includes(" sqlite_")) sqlite.run(sql.replace(/^CREATE (UNIQUE )?(TABLE|INDEX) /, "$&copy."));
      for (const [table, query] of Object.entries(IN_COPY)) sqlite.run(`INSERT INTO copy.${table} ${query}`);
      sqlite.run(
        `PRAGMA copy.application_id = ${APPLICATION_ID}; PRAGMA copy.user_version = ${schemaVersion(sqlite)}`,
      );
    })();
  } finally {
    sqlite.run("DETACH copy");
  }
}

/**
 * Returns a state.db in memory that contains `rows`. Its schema is the one that belongs to version `schema`
 * of licmond.db.
 */
export function stateWith(rows: Rows, schema: number): Database {
  const sqlite = new Database(":memory:");
  const taken = STATE_MIGRATIONS.filter(({ since }) => since <= schema);
  migrate(sqlite, "state.db", taken);
  putRows(sqlite, rows);
  return sqlite;
}

/**
 * Copies both databases into the one empty file `to`, each as of one moment. The result is a licmond.db
 * that also has the rows of state.db. Both databases may be in use. Throws StoreError.
 */
export function copyBoth({ history, state: statePath }: Paths, to: string): void {
  copyDatabase(history, to, "live");
  using copy = new Database(to, { readwrite: true, strict: true });
  // A licmond.db from before state.db existed contains everything already.
  if (!tableNames(copy).includes("key_uses")) return;
  using state = openReader(statePath);
  copy.run("PRAGMA journal_mode = MEMORY");
  const known = tableNames(copy);
  const tables = state.query<{ name: string; sql: string }, []>(
    "SELECT name, sql FROM sqlite_schema WHERE type = 'table'",
  );
  for (const { name, sql } of tables.all()) if (name in IN_BACKUP && !known.includes(name)) copy.run(sql);
  putRows(copy, readRows(state, IN_BACKUP));
}

/**
 * Queries for the state that a licmond.db contains. With an older schema, alerts are left out, because the
 * upgrade moves them.
 */
const stateQueries = (schema: number): Queries => (schema < ALERTS_MOVED ? KEYS : IN_BACKUP);

/**
 * Returns the state that a licmond.db contains, in memory; null if the file contains no state. If `sqlite`
 * is null because the file is unreadable, the side copy of 0.1 is used. Throws SQLite's errors.
 */
export function stateIn(sqlite: Database | null, path: string): Database | null {
  if (sqlite !== null && !tableNames(sqlite).includes("api_keys")) return null;
  const side = sideCopy(path);
  const schema = sqlite === null ? 0 : schemaVersion(sqlite);
  const rows = sqlite === null ? side : readRows(sqlite, { ...stateQueries(schema), ...AUDIT });
  if (rows?.api_keys === undefined) return null;
  const state = stateWith(rows, schema);
  // Also apply revocations of the side copy, which 0.1 wrote before confirming a revocation.
  for (const row of side?.api_keys ?? []) revoke(state, row);
  return state;
}

export function dropState(sqlite: Database): void {
  for (const table of Object.keys(stateQueries(schemaVersion(sqlite))))
    if (table !== "event_marks") sqlite.run(`DROP TABLE IF EXISTS "${table}"`);
}

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
  // JSON has no bytes, so they are written as `{ "hex": … }`.
  const decode = (_: string, value: unknown) =>
    typeof value === "object" && value !== null && "hex" in value
      ? Buffer.from(String(value.hex), "hex")
      : value;
  return head.includes(`"sha256":"${hash}"`) ? (JSON.parse(content, decode) as Rows) : null;
}
