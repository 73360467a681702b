import type { Database, SQLQueryBindings } from "bun:sqlite";
import { isKeyId } from "../../domain/keys.ts";
import { ROLES } from "../../domain/words.ts";
import { continueEventIds, highestEventId } from "../backup/event-ids.ts";
import { openUntouched, tableNames } from "../backup/untouched.ts";
import { errorCode } from "../store-error.ts";

type Row = Readonly<Record<string, SQLQueryBindings>>;

/**
 * What is small, cannot be collected again, and would be missed at once. `servers` and history come again with the next
 * polls, or with a backup.
 */
const TABLES: readonly { readonly name: string; readonly isSound?: (row: Row) => boolean }[] = [
  { name: "api_keys", isSound: isSoundKey },
  { name: "secrets", isSound: ({ value }) => value instanceof Uint8Array && value.length === 32 },
  { name: "quota_counts" },
  { name: "alerts" },
  { name: "alert_watches" },
  { name: "alert_baselines" },
  { name: "notifications" },
];

/** Rows taken over, by table; tables without any are left out. */
export type Rescued = Readonly<Record<string, number>>;

/**
 * Copies what can still be read of a damaged database into a new one: each table on its own, from both of its ends up
 * to the damage. Never throws for what is damaged, only where `into` cannot be written; the damaged file is only read.
 */
export function rescue(damaged: string, into: Database, now: number): Rescued {
  let from: Database | null = null;
  let highest: number | null = null;
  const rescued: Record<string, number> = {};
  try {
    from = openUntouched(damaged);
    const source = from;
    highest = attempt(() => highestEventId(source, now));
    for (const { name, isSound = () => true } of TABLES) {
      const count = attempt(() => takeOver(source, into, name, isSound)) ?? 0;
      if (count > 0) rescued[name] = count;
    }
    attempt(() => takeToldKeys(source, into));
  } catch (error) {
    // Else not even its first page can be read: nothing is rescued, and the caller says so.
    if (isNotDamage(error)) throw error;
  } finally {
    from?.close();
  }
  into.transaction(() => {
    continueEventIds(into, highest, now);
    const marks = into.query(
      "INSERT INTO event_marks (name, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = max(value, excluded.value)",
    );
    for (const mark of ["deleted_logs", "deleted_events"]) marks.run(mark, highest ?? now);
  })();
  return rescued;
}

function takeOver(from: Database, into: Database, name: string, isSound: (row: Row) => boolean): number {
  if (!tableNames(from).includes(name)) return 0;
  const known = new Set(columnsOf(from, name).map((column) => column.name));
  const columns = columnsOf(into, name).filter((column) => known.has(column.name));
  const keys = columns.filter(({ pk }) => pk > 0).map((column) => `"${column.name}"`);
  const list = columns.map((column) => `"${column.name}"`).join(", ");
  const insert = into.query<null, SQLQueryBindings[]>(
    `INSERT OR IGNORE INTO "${name}" (${list}) VALUES (${columns.map(() => "?").join(", ")})`,
  );
  let count = 0;
  for (const direction of ["ASC", "DESC"]) {
    const order = keys.map((key) => `${key} ${direction}`).join(", ");
    const rows = from.query<Row, []>(`SELECT ${list} FROM "${name}" NOT INDEXED ORDER BY ${order}`);
    const whole = attempt(() => {
      for (const row of rows.iterate()) {
        if (!isSound(row)) continue;
        // A row that the schema does not take is damaged too.
        count += attempt(() => insert.run(...columns.map((column) => row[column.name] ?? null)).changes) ?? 0;
      }
      return true;
    });
    if (whole === true) break;
  }
  return count;
}

/** Which keys were told of in the audit trail: without it all of them would be told as new. */
function takeToldKeys(from: Database, into: Database): void {
  const told = from
    .query<{ value: number }, []>("SELECT value FROM event_marks WHERE name = 'keys_told'")
    .get();
  if (told !== null && Number.isSafeInteger(told.value))
    into.query("INSERT OR IGNORE INTO event_marks (name, value) VALUES ('keys_told', ?)").run(told.value);
}

function columnsOf(sqlite: Database, table: string): { name: string; pk: number }[] {
  return sqlite.query<{ name: string; pk: number }, []>(`PRAGMA table_info("${table}")`).all();
}

function isSoundKey({ id, role, name }: Row): boolean {
  const known: readonly unknown[] = ROLES;
  return typeof id === "string" && isKeyId(id) && known.includes(role) && typeof name === "string";
}

function attempt<T>(work: () => T): T | null {
  try {
    return work();
  } catch (error) {
    if (isNotDamage(error)) throw error;
    // Damage: what could be read before it stands.
    return null;
  }
}

/** A new database that cannot be written must not pass for rows that could not be read. */
function isNotDamage(error: unknown): boolean {
  return /^SQLITE_(FULL|IOERR_(WRITE|FSYNC|TRUNCATE))/.test(errorCode(error) ?? "");
}
