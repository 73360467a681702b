import { EVENT_SCHEMAS } from "../domain/events.ts";
import { DAY_MS } from "../domain/time/clock.ts";
import { LOG_SOURCES, type LogSource } from "../domain/words.ts";
import { createLogCounter, createMarks } from "./events.ts";
import { createLogIndex } from "./log-words.ts";
import type { Store } from "./open/open.ts";

/**
 * Maximum number of rows that one step reads, oldest first. A step of 100,000 rows blocked the event loop
 * for 83 ms.
 */
const LOOKED_AT = 1_000;

const OF_IDS = "FROM events WHERE id IN (SELECT value FROM json_each(?))";

const DOMAIN_EVENTS = Object.keys(EVENT_SCHEMAS).filter((type) => type !== "log");

/**
 * Finds the ids of the oldest events of some types or sources, ascending. Each type or source is looked up
 * in its own part of an index, so that deleting never scans events that stay.
 */
function createOldest(
  { sqlite, read }: Store,
  column: "type" | "source",
  words: readonly string[],
  limit: number,
) {
  const newestBehind = sqlite.query<{ id: number | null }, [string, number]>(
    `SELECT max(id) AS id FROM (
       SELECT id FROM events INDEXED BY events_behind
       WHERE at < id AND ${column} IN (SELECT value FROM json_each(?)) AND at < ? ORDER BY at LIMIT ${LOOKED_AT})`,
  );
  const idsWhere = (condition: string, ...values: number[]): number[] => {
    const each = sqlite.query<{ id: number }, (string | number)[]>(
      `SELECT id FROM events WHERE ${column} = ? AND ${condition} ORDER BY id LIMIT ${limit}`,
    );
    const ids = words.flatMap((word) => each.all(word, ...values).map(({ id }) => id));
    return ids.sort((a, b) => a - b).slice(0, limit);
  };
  return {
    any: () => idsWhere("true"),
    /**
     * Returns events published before an instant. Ids are times, unless the clock was ahead when they were
     * assigned; for such ids, the event's own time counts.
     */
    publishedBefore(before: number, now: number): number[] {
      const through = read(() => newestBehind.get(JSON.stringify(words), before))?.id ?? null;
      if (through === null || through < before) return idsWhere("id < ?", before);
      return idsWhere("id <= ? AND (id < ? OR at < ? OR at > ?)", through, before, before, now + DAY_MS);
    },
  };
}

export function createEventRetention(store: Store, limit: number) {
  const marks = createMarks(store);
  const oldest = createOldest(store, "type", DOMAIN_EVENTS, limit);
  const remove = store.sqlite.query<null, [string]>(`DELETE ${OF_IDS}`);
  return (before: number, now: number): number =>
    store.transaction(() => {
      const ids = oldest.publishedBefore(before, now);
      const last = ids.at(-1);
      if (last === undefined) return 0;
      remove.run(JSON.stringify(ids));
      marks.raise("deleted_events", last);
      return ids.length;
    });
}

/** Maximum number of lines per step. Deleting them in one transaction takes a few milliseconds. */
const STEP_ROWS = 100;
/** Source of the audit trail, which neither clearing nor size limits delete. */
const AUDIT: LogSource = "audit";
const NOT_AUDIT = LOG_SOURCES.filter((source) => source !== AUDIT);

interface ClearedStep {
  readonly cleared: number;
  readonly last: number | null;
}

interface KeptLogs {
  readonly now: number;
  readonly logsBefore: number;
  readonly auditBefore: number;
  readonly maxBytes: number;
}

export type Logs = ReturnType<typeof createLogs>;

/** Maintains stored log lines; `log-queries.ts` reads them in the history worker. */
export function createLogs(store: Store) {
  const { sqlite } = store;
  const marks = createMarks(store);
  const countLine = createLogCounter(store);
  const index = createLogIndex(store);
  const oldest = createOldest(store, "source", NOT_AUDIT, STEP_ROWS);
  const oldestOfAudit = createOldest(store, "source", [AUDIT], STEP_ROWS);
  const take = sqlite.query<{ at: number; level: string; source: string; body: string }, [string]>(
    `DELETE ${OF_IDS} RETURNING at, level, source, body`,
  );
  const stepOf = sqlite.query<{ id: number; at: number; source: string | null }, [number, number]>(
    `SELECT id, at, source FROM events WHERE type = 'log' AND id > ? AND id <= ? ORDER BY id LIMIT ${STEP_ROWS}`,
  );

  function remove(ids: readonly number[]): number {
    const last = ids.at(-1);
    if (last === undefined) return 0;
    const taken = take.all(JSON.stringify(ids));
    index.deleted(last);
    for (const { at, level, source } of taken) countLine(at, level, source, -1);
    marks.add("log_bytes", -taken.reduce((sum, { body }) => sum + body.length, 0));
    marks.raise("deleted_logs", last);
    return ids.length;
  }

  return {
    /**
     * Processes one step of the lines in (after, through] and deletes those published before `before` (null =
     * all), except audit lines.
     */
    clearStep: (before: number | null, after: number, through: number): ClearedStep =>
      store.transaction(() => {
        const lines = stepOf.all(after, through);
        const doomed = lines.filter(({ at, source }) => source !== AUDIT && (before === null || at < before));
        return { cleared: remove(doomed.map(({ id }) => id)), last: lines.at(-1)?.id ?? null };
      }),
    retainStep: ({ now, logsBefore, auditBefore, maxBytes }: KeptLogs): number =>
      store.transaction(
        () =>
          remove(marks.get("log_bytes") > maxBytes ? oldest.any() : []) ||
          remove(oldest.publishedBefore(logsBefore, now)) ||
          remove(oldestOfAudit.publishedBefore(auditBefore, now)),
      ),
    indexStep: index.step,
  };
}
