import { HOUR_MS } from "../domain/time/time.ts";
import type { DatabaseFile } from "./database/database-file.ts";

export type MarkName =
  | "reserved"
  | "deleted_logs"
  | "deleted_events"
  | "log_bytes"
  | "keys_told"
  | "deleted_sessions"
  | "denials_seen"
  | "trusted_time"
  | "retention_time";

/**
 * Numbers kept beside the events, in their transactions; `reserved` and `keys_told` in state.db, the others in licmond.db.
 * Absent is 0. `deleted_sessions`: those that ended before it.
 * `trusted_time`, `retention_time`: see `clock-watch.ts`.
 */
export function createMarks({ sqlite, read }: Pick<DatabaseFile, "sqlite" | "read">) {
  // Prepared SQL: each stored log line adds to a mark.
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
    /** Sets it unless it is higher already. */
    raise: upsert("max(value, excluded.value)"),
    add: upsert("value + excluded.value"),
  };
}

/**
 * Keeps the number of stored log lines by hour, level and source, so that statistics cost no scan. `by` may be negative;
 * runs in the caller's transaction. Prepared SQL: each stored log line is counted.
 */
export function createLogCounter({ sqlite }: Pick<DatabaseFile, "sqlite">) {
  const add = sqlite.query<null, [number, string, string, number]>(
    `INSERT INTO log_counts (hour, level, source, count) VALUES (?, ?, ?, ?)
     ON CONFLICT (hour, level, source) DO UPDATE SET count = count + excluded.count`,
  );
  return (at: number, level: string, source: string, by: number): void =>
    void add.run(at - (at % HOUR_MS), level, source, by);
}
