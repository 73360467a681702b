import type { Database } from "bun:sqlite";
import type { Vital } from "./file.ts";
import { insertRow } from "./insert-row.ts";
import { mergeKeys } from "./keys.ts";
import type { VitalRow } from "./rows.ts";

/** Taken only where the damaged database could not be read: its own rows are the newer ones. */
const WHERE_UNREAD = ["quota_counts", "alerts", "alert_watches", "alert_baselines", "notifications"] as const;

/** Rows that came from the side copy, by table; tables without any are left out. */
export type GivenBack = Readonly<Record<string, number>>;

/**
 * Fills a new database, which takes the place of a damaged one and has what could be rescued of that, with what the side
 * copy has beyond it. `isRead` tells whether a table of the damaged database could be read to its end.
 * Throws what SQLite throws where the new one cannot be written.
 */
export function giveBack(into: Database, { rows }: Vital, isRead: (table: string) => boolean): GivenBack {
  const given: Record<string, number> = {};
  const count = (name: string, some: readonly VitalRow[], put: (row: VitalRow) => boolean) => {
    const taken = some.filter(put).length;
    if (taken > 0) given[name] = taken;
  };
  into.transaction(() => {
    const { added, revoked } = mergeKeys(into, rows.api_keys ?? [], true);
    if (added.length + revoked.length > 0) given.api_keys = added.length + revoked.length;
    // A secret that was read from a damaged page may be another.
    const ownSecret = into.query<VitalRow, [string]>("SELECT value FROM secrets WHERE name = ?");
    count("secrets", rows.secrets ?? [], (row) => {
      const own = ownSecret.get(String(row.name))?.value;
      const isSame =
        own instanceof Uint8Array && row.value instanceof Uint8Array && bytesEqual(own, row.value);
      return !isSame && insertRow(into, "secrets", row, "REPLACE");
    });
    for (const name of WHERE_UNREAD)
      if (!isRead(name)) count(name, rows[name] ?? [], (row) => insertRow(into, name, row, "IGNORE"));
    const raise = into.query("UPDATE event_marks SET value = max(value, ?) WHERE name = 'reserved'");
    for (const { name, value } of rows.event_marks ?? []) if (name === "reserved") raise.run(value ?? 0);
    const told = rows.event_marks?.filter(({ name }) => name === "keys_told") ?? [];
    for (const row of told) insertRow(into, "event_marks", row, "IGNORE");
    const putLine = lineWriter(into);
    count("audit lines", rows.events ?? [], putLine);
  })();
  return given;
}

function bytesEqual(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.from(a).equals(b);
}

/** Stores log lines with all that is kept of them: see `createEvents`, which does it for the running daemon. */
export function lineWriter(into: Database): (row: VitalRow) => boolean {
  // An index row over lines of which one comes later would hide it from searches.
  const unindex = into.query("DELETE FROM log_words WHERE from_id <= ?1 AND through_id >= ?1");
  const counts = into.query(
    "INSERT INTO log_counts (hour, level, source, count) VALUES (?, ?, ?, 1) ON CONFLICT DO UPDATE SET count = count + 1",
  );
  const bytes = into.query(
    "INSERT INTO event_marks (name, value) VALUES ('log_bytes', ?) ON CONFLICT DO UPDATE SET value = value + excluded.value",
  );
  return (row) => {
    const line = readLine(row);
    if (line === null || !insertRow(into, "events", row, "IGNORE")) return false;
    unindex.run(line.id);
    counts.run(Math.floor(line.at / 3_600_000) * 3_600_000, line.level, line.source);
    bytes.run(line.body.length);
    return true;
  };
}

/** Null when it is no log line. */
function readLine({ id, at, level, source, body }: VitalRow) {
  if (typeof id !== "number" || typeof at !== "number" || typeof body !== "string") return null;
  if (typeof level !== "string" || typeof source !== "string") return null;
  let event: unknown;
  try {
    event = JSON.parse(body);
  } catch {
    return null;
  }
  if (typeof event !== "object" || event === null || !("message" in event) || !("metadata" in event))
    return null;
  const { message, metadata } = event;
  if (typeof message !== "string" || typeof metadata !== "object" || metadata === null) return null;
  return { id, at, level, source, body };
}
