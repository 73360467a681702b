import type { Database, SQLQueryBindings } from "bun:sqlite";
import { isKeyId } from "../../domain/keys.ts";
import { ROLES } from "../../domain/words.ts";
import { continueEventIds, highestEventId } from "../backup/event-ids.ts";
import { openUntouched, tableNames } from "../backup/untouched.ts";
import { errorCode } from "../store-error.ts";
import { lineWriter } from "../vital/give-back.ts";

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

export interface Rescued {
  /** Rows taken over, by table; tables without any are left out. */
  readonly rows: Readonly<Record<string, number>>;
  /** Whether all of a table's rows could be read: what is not there then was not there. */
  isRead(table: string): boolean;
}

/**
 * Copies what can still be read of a damaged database into a new one: each table on its own, from both of its ends up
 * to the damage. Never throws for what is damaged, only where `into` cannot be written; the damaged file is only read.
 */
export function rescue(damaged: string, into: Database, now: number): Rescued {
  let from: Database | null = null;
  let highest: number | null = null;
  const rows: Record<string, number> = {};
  const read = new Set<string>();
  try {
    from = openUntouched(damaged);
    const source = from;
    highest = attempt(() => highestEventId(source, now));
    for (const { name, isSound = () => true } of TABLES) {
      const { count, whole } = attempt(() => takeOver(source, into, name, isSound)) ?? UNREAD;
      if (count > 0) rows[name] = count;
      if (whole) read.add(name);
    }
    const lines = attempt(() => takeAudit(source, into)) ?? 0;
    if (lines > 0) rows["audit lines"] = lines;
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
  return { rows, isRead: (table) => read.has(table) };
}

const UNREAD = { count: 0, whole: false };

function takeOver(
  from: Database,
  into: Database,
  name: string,
  isSound: (row: Row) => boolean,
): { count: number; whole: boolean } {
  if (!tableNames(from).includes(name)) return UNREAD;
  const known = new Set(columnsOf(from, name).map((column) => column.name));
  const columns = columnsOf(into, name).filter((column) => known.has(column.name));
  const keys = columns.filter(({ pk }) => pk > 0).map((column) => `"${column.name}"`);
  const list = columns.map((column) => `"${column.name}"`).join(", ");
  const insert = into.query<null, SQLQueryBindings[]>(
    `INSERT OR IGNORE INTO "${name}" (${list}) VALUES (${columns.map(() => "?").join(", ")})`,
  );
  let [count, whole] = [0, false];
  for (const direction of ["ASC", "DESC"]) {
    const order = keys.map((key) => `${key} ${direction}`).join(", ");
    const rows = from.query<Row, []>(`SELECT ${list} FROM "${name}" NOT INDEXED ORDER BY ${order}`);
    const ended = attempt(() => {
      for (const row of rows.iterate()) {
        if (!isSound(row)) continue;
        // A row that the schema does not take is damaged too.
        count += attempt(() => insert.run(...columns.map((column) => row[column.name] ?? null)).changes) ?? 0;
      }
      return true;
    });
    whole = ended === true;
    if (whole) break;
  }
  return { count, whole };
}

/** The newest lines of the audit trail: the rest of the log may be large, and can be read in the damaged file. */
function takeAudit(from: Database, into: Database): number {
  const lines = from.query<Row, []>(
    "SELECT * FROM events WHERE source = 'audit' ORDER BY id DESC LIMIT 1000",
  );
  const put = lineWriter(into);
  let count = 0;
  attempt(() => {
    for (const row of lines.iterate()) if (attempt(() => put(row)) === true) count++;
  });
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
