import { eq, sql } from "drizzle-orm";
import type { DatabaseFile } from "./database/database-file.ts";
import { eventMarks } from "./database/schema.ts";

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
export interface Marks {
  get(name: MarkName): number;
  set(name: MarkName, value: number): void;
  /** Sets it unless it is higher already. */
  raise(name: MarkName, value: number): void;
  add(name: MarkName, value: number): void;
}

export function createMarks({ db, read }: Pick<DatabaseFile, "db" | "read">): Marks {
  const row = { name: sql.placeholder("name"), value: sql.placeholder("value") };
  const get = db
    .select({ value: eventMarks.value })
    .from(eventMarks)
    .where(eq(eventMarks.name, sql.placeholder("name")))
    .prepare();
  const upsert = (value: ReturnType<typeof sql>) =>
    db
      .insert(eventMarks)
      .values(row)
      .onConflictDoUpdate({ target: eventMarks.name, set: { value } })
      .prepare();
  const set = upsert(sql`excluded.value`);
  const raise = upsert(sql`max(${eventMarks.value}, excluded.value)`);
  const add = upsert(sql`${eventMarks.value} + excluded.value`);
  return {
    get: (name) => read(() => get.get({ name }))?.value ?? 0,
    set: (name, value) => void set.run({ name, value }),
    raise: (name, value) => void raise.run({ name, value }),
    add: (name, value) => void add.run({ name, value }),
  };
}
