import { sql } from "drizzle-orm";
import { placeholdersOf } from "./database/placeholders.ts";
import { logCounts } from "./database/schema.ts";
import type { Store } from "./open/open.ts";

const HOUR_MS = 3_600_000;

/** Stored log lines by hour, level and source: kept with every change, so that statistics cost no scan. */
export interface LogCounts {
  /** `by` may be negative; runs in the caller's transaction. */
  add(at: number, level: string, source: string, by: number): void;
}

export function createLogCounts({ db }: Store): LogCounts {
  const add = db
    .insert(logCounts)
    .values(placeholdersOf(logCounts))
    .onConflictDoUpdate({
      target: [logCounts.hour, logCounts.level, logCounts.source],
      set: { count: sql`${logCounts.count} + excluded.count` },
    })
    .prepare();
  return {
    add: (at, level, source, by) =>
      void add.run({ hour: Math.floor(at / HOUR_MS) * HOUR_MS, level, source, count: by }),
  };
}
