import type { Database, SQLQueryBindings } from "bun:sqlite";
import { tableNames } from "../backup/untouched.ts";

export type VitalRow = Readonly<Record<string, SQLQueryBindings>>;

/** Rows by table, as they are in the database: of keys only the hashes are there. */
export type VitalRows = Readonly<Record<string, readonly VitalRow[]>>;

/** So many lines of the audit trail: what changes keys and settings is rare. */
const AUDIT_LINES = 1_000;
/** So many alerts, watches, messages …: a site with more has them again with the next polls. */
const MAX_ROWS = 2_000;

/**
 * What is small, cannot be collected again, and would be missed at once. The keys and secrets are all there, of the
 * others at most the newest.
 */
const QUERIES: Readonly<Record<string, string>> = {
  api_keys: "SELECT * FROM api_keys ORDER BY id",
  secrets: "SELECT * FROM secrets ORDER BY name",
  quota_counts: `SELECT * FROM quota_counts ORDER BY key_id LIMIT ${MAX_ROWS}`,
  alerts: `SELECT * FROM alerts WHERE resolved_at IS NULL ORDER BY id DESC LIMIT ${MAX_ROWS}`,
  alert_watches: `SELECT * FROM alert_watches ORDER BY subject LIMIT ${MAX_ROWS}`,
  alert_baselines: `SELECT * FROM alert_baselines ORDER BY server LIMIT ${MAX_ROWS}`,
  notifications: `SELECT * FROM notifications ORDER BY id DESC LIMIT ${MAX_ROWS}`,
  event_marks: "SELECT * FROM event_marks WHERE name IN ('keys_told', 'reserved') ORDER BY name",
  events: `SELECT * FROM events WHERE source = 'audit' ORDER BY id DESC LIMIT ${AUDIT_LINES}`,
};

/** Reads it, as the transaction that runs sees it. Tables that an older schema lacks are left out. */
export function readVitalRows(sqlite: Database): VitalRows {
  const names = tableNames(sqlite);
  const found = Object.entries(QUERIES).filter(([name]) => names.includes(name));
  return Object.fromEntries(found.map(([name, query]) => [name, sqlite.query<VitalRow, []>(query).all()]));
}
