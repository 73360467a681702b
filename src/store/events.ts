import type { EventType, StoredEvent } from "../domain/events.ts";
import { HOUR_MS } from "../domain/time/clock.ts";
import type { DatabaseFile } from "./database/database-file.ts";
import { AUDIT_LINES } from "./database/precious.ts";
import type { Store } from "./open/open.ts";

export interface EventRow {
  readonly id: number;
  readonly type: EventType;
  readonly level: string | null;
  readonly source: string | null;
  /** The event as JSON; empty if the stored event is damaged. */
  readonly json: string;
}

type Row = Omit<EventRow, "json"> & { at: number; server: string | null; body: string };

const ROW = "INTO events VALUES ($id, $at, $type, $level, $source, $server, $body)";

export type Events = ReturnType<typeof createEvents>;

/** Stored events. Uses prepared SQL: each event is inserted, and clients that catch up read many pages. */
export function createEvents(store: Store) {
  const { sqlite, read } = store;
  const marks = createMarks(store);
  const reserved = createMarks(store.state);
  const countLine = createLogCounter(store);
  const insert = sqlite.query<null, [Row]>(`INSERT ${ROW}`);
  const pageOf = (condition: string) =>
    sqlite.query<EventRow, [number, string, number]>(
      `SELECT id, type, level, source, iif(json_valid(body), body, '') AS json FROM events
       WHERE id > ?1 AND ${condition} ORDER BY id LIMIT ?3`,
    );
  const anyPage = pageOf("?2 = ''");
  const typePage = pageOf("type = ?2");
  const edges = sqlite.query<{ oldest: number | null; newest: number | null }, []>(
    "SELECT (SELECT min(id) FROM events) AS oldest, (SELECT max(id) FROM events) AS newest",
  );
  const insertHole = sqlite.query<null, [number, number]>("INSERT OR IGNORE INTO event_holes VALUES (?, ?)");
  const holes = sqlite.query<{ from: number; to: number }, [number]>(
    'SELECT from_id AS "from", to_id AS "to" FROM event_holes WHERE to_id > ?',
  );

  return {
    transaction: (work: () => void): void => store.transaction(() => void work()),
    insert(id: number, event: StoredEvent, json: string): void {
      const isLog = event.type === "log";
      const server = isLog ? event.metadata.server : event.server;
      const row: Row = {
        id,
        at: Date.parse(event.timestamp),
        type: event.type,
        level: isLog ? event.level : null,
        source: isLog ? event.source : null,
        server: typeof server === "string" ? server : null,
        body: json,
      };
      insert.run(row);
      if (!isLog) return;
      if (event.source === "audit") store.transaction(({ after }) => after(() => keepAuditLine(store, row)));
      countLine(row.at, event.level, event.source, 1);
      marks.add("log_bytes", json.length);
    },
    insertHole: (from: number, to: number): void => void insertHole.run(from, to),
    page: (after: number, limit: number, only?: EventType): EventRow[] =>
      read(() => (only === undefined ? anyPage : typePage).all(after, only ?? "", limit)),
    oldestId: (): number | null => read(() => edges.get())?.oldest ?? null,
    /**
     * Returns the newest id deleted by retention or clearing; 0 if none was deleted. With `only`, considers
     * only log lines.
     */
    deletedThrough: (only?: "log"): number =>
      Math.max(marks.get("deleted_logs"), only === "log" ? 0 : marks.get("deleted_events")),
    holesAbove: (after: number): { readonly from: number; readonly to: number }[] =>
      read(() => holes.all(after)),
    /** Returns the highest id that may be in use, after which a new process starts. */
    highestReserved: (): number =>
      Math.max(reserved.get("reserved"), marks.get("reserved_beside"), read(() => edges.get())?.newest ?? 0),
    reserve: (highest: number): void => store.state.transaction(() => reserved.set("reserved", highest)),
    /**
     * Same as `reserve`, but in licmond.db, for times when state.db cannot be written. Runs in the caller's
     * transaction.
     */
    reserveBeside: (highest: number): void => marks.raise("reserved_beside", highest),
  };
}

/** Stores a line of the audit trail also in state.db. A new licmond.db takes the newest lines from there. */
function keepAuditLine({ state }: Store, row: Row): void {
  try {
    state.write(() => {
      state.sqlite.query<null, [Row]>(`INSERT OR IGNORE ${ROW}`).run(row);
      state.sqlite.run(
        `DELETE FROM events WHERE id <= (SELECT id FROM events ORDER BY id DESC LIMIT 1 OFFSET ${AUDIT_LINES})`,
      );
    });
  } catch {
    // The line is stored in licmond.db anyway, and the check of state.db reports why state.db cannot be
    // written.
  }
}

type MarkName =
  | "reserved"
  | "reserved_beside"
  | "deleted_logs"
  | "deleted_events"
  | "log_bytes"
  | "keys_told"
  | "deleted_sessions"
  | "denials_seen"
  | "trusted_time"
  | "retention_time"
  | `report:${string}`;

/**
 * Counters that are stored with the events, in the same transactions: `reserved` and `keys_told` in
 * state.db, the others in licmond.db. Absent counters are 0.
 * `deleted_sessions`: sessions that ended before this time are deleted.
 * `report:…`: the end of the period that was sent last, see `daemon/reports.ts`.
 * `trusted_time`, `retention_time`: see `clock-watch.ts`.
 */
export function createMarks({ sqlite, read }: Pick<DatabaseFile, "sqlite" | "read">) {
  const get = sqlite.query<{ value: number }, [MarkName]>("SELECT value FROM event_marks WHERE name = ?");
  const upsert = (value: string) => {
    const statement = sqlite.query<null, [MarkName, number]>(
      `INSERT INTO event_marks (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = ${value}`,
    );
    return (name: MarkName, to: number): void => void statement.run(name, to);
  };
  return {
    get: (name: MarkName): number => read(() => get.get(name))?.value ?? 0,
    set: upsert("excluded.value"),
    raise: upsert("max(value, excluded.value)"),
    add: upsert("value + excluded.value"),
  };
}

/**
 * Keeps the number of stored log lines by hour, level and source, so that statistics need no scan. `by` may
 * be negative. Runs in the caller's transaction. Uses prepared SQL, because each stored log line is
 * counted.
 */
export function createLogCounter({ sqlite }: Pick<DatabaseFile, "sqlite">) {
  const add = sqlite.query<null, [number, string, string, number]>(
    `INSERT INTO log_counts (hour, level, source, count) VALUES (?, ?, ?, ?)
     ON CONFLICT (hour, level, source) DO UPDATE SET count = count + excluded.count`,
  );
  return (at: number, level: string, source: string, by: number): void =>
    void add.run(at - (at % HOUR_MS), level, source, by);
}
