import { inArray } from "drizzle-orm";
import { LOG_SOURCES, type LogSource } from "../domain/words.ts";
import { events } from "./database/schema.ts";
import { createLogCounter, createMarks } from "./event-marks.ts";
import { type EventCondition, oldestIds, publishedBefore } from "./event-retention.ts";
import { createLogIndex } from "./log-words.ts";
import type { Store } from "./open/open.ts";

/** Lines deleted in one transaction: a few milliseconds. */
const STEP_ROWS = 100;
/** Lines of this source are the audit trail: no clearing and no limit of size takes them. */
const AUDIT: LogSource = "audit";
const NOT_AUDIT = LOG_SOURCES.filter((source) => source !== AUDIT);

export interface ClearedStep {
  readonly cleared: number;
  /** The newest line that was looked at: the next step goes on behind it. Null = done. */
  readonly last: number | null;
}

interface KeptLogs {
  readonly now: number;
  readonly logsBefore: number;
  readonly auditBefore: number;
  readonly maxBytes: number;
}

export type Logs = ReturnType<typeof createLogs>;

/** What is done to stored log lines; they are read in the worker of history (`log-queries.ts`). */
export function createLogs(store: Store) {
  const { db, sqlite } = store;
  const marks = createMarks(store);
  const countLine = createLogCounter(store);
  const index = createLogIndex(store);
  const published = publishedBefore(store, `type = 'log' AND source <> '${AUDIT}'`);
  const auditPublished = publishedBefore(store, `type = 'log' AND source = '${AUDIT}'`);
  const stepOf = sqlite.query<{ id: number; at: number; source: string | null }, [number, number]>(
    `SELECT id, at, source FROM events WHERE type = 'log' AND id > ? AND id <= ? ORDER BY id LIMIT ${STEP_ROWS}`,
  );

  function remove(ids: readonly number[]): number {
    const last = ids.at(-1);
    if (last === undefined) return 0;
    const ofIds = inArray(events.id, [...ids]);
    const doomed = db.select().from(events).where(ofIds).all();
    db.delete(events).where(ofIds).run();
    index.deleted(last);
    for (const { at, level, source } of doomed) countLine(at, level ?? "", source ?? "", -1);
    marks.add("log_bytes", -doomed.reduce((sum, { body }) => sum + body.length, 0));
    marks.raise("deleted_logs", last);
    return ids.length;
  }

  const removeOldest = (sources: readonly LogSource[], condition: EventCondition): number =>
    store.transaction(() => remove(oldestIds(store, "source", sources, condition, STEP_ROWS)));

  return {
    /**
     * Looks at one step of the lines in (after, through], and deletes those published before `before` (null = all), audit
     * lines spared.
     */
    clearStep: (before: number | null, after: number, through: number): ClearedStep =>
      store.transaction(() => {
        const lines = stepOf.all(after, through);
        const doomed = lines.filter(({ at, source }) => source !== AUDIT && (before === null || at < before));
        return { cleared: remove(doomed.map(({ id }) => id)), last: lines.at(-1)?.id ?? null };
      }),
    /** Deletes one step of what is too old, or too much. Answers how many; 0 = done. */
    retainStep({ now, logsBefore, auditBefore, maxBytes }: KeptLogs): number {
      if (marks.get("log_bytes") > maxBytes) {
        const tooMuch = removeOldest(NOT_AUDIT, { where: "true", values: [] });
        if (tooMuch > 0) return tooMuch;
      }
      return (
        removeOldest(NOT_AUDIT, published(logsBefore, now)) ||
        removeOldest([AUDIT], auditPublished(auditBefore, now))
      );
    },
    /** Indexes one step of the lines for searches. Answers how many; 0 = done. */
    indexStep: index.step,
  };
}
