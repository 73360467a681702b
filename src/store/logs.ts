import { EVENT_SCHEMAS } from "../domain/events.ts";
import { DAY_MS } from "../domain/time/clock.ts";
import { LOG_SOURCES, type LogSource } from "../domain/words.ts";
import { createLogCounter, createMarks } from "./events.ts";
import { createLogIndex } from "./log-words.ts";
import type { Store } from "./open/open.ts";

/** Rows that one look takes, oldest first: a look at 100,000 of them held the event loop for 83 ms. */
const LOOKED_AT = 1_000;

/** Ids in one bound list. */
const OF_IDS = "FROM events WHERE id IN (SELECT value FROM json_each(?))";

const DOMAIN_EVENTS = Object.keys(EVENT_SCHEMAS).filter((type) => type !== "log");

/**
 * Finds the ids of the oldest events of some types or some sources, ascending: each is looked up in its own part of an
 * index, so that no step of deleting passes by what stays.
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
     * Those that were published before an instant. The id says so while ids are times. After a clock that was ahead ids go
     * on from there: then the time that an event has counts, and what was published before an event that is too old is too
     * old as well, when a clock that was ahead gave it a time that is still to come.
     */
    publishedBefore(before: number, now: number): number[] {
      const through = read(() => newestBehind.get(JSON.stringify(words), before))?.id ?? null;
      if (through === null || through < before) return idsWhere("id < ?", before);
      return idsWhere("id <= ? AND (id < ? OR at < ? OR at > ?)", through, before, before, now + DAY_MS);
    },
  };
}

/** Deletes one step of the stored events of other types than `log` that are too old; answers how many. */
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

/** Lines deleted in one transaction: a few milliseconds. */
const STEP_ROWS = 100;
/** Lines of this source are the audit trail: no clearing and no limit of size takes them. */
const AUDIT: LogSource = "audit";
const NOT_AUDIT = LOG_SOURCES.filter((source) => source !== AUDIT);

interface ClearedStep {
  readonly cleared: number;
  /** The newest line that was looked at: the next step goes on after it. Null = done. */
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
    retainStep: ({ now, logsBefore, auditBefore, maxBytes }: KeptLogs): number =>
      store.transaction(
        () =>
          remove(marks.get("log_bytes") > maxBytes ? oldest.any() : []) ||
          remove(oldest.publishedBefore(logsBefore, now)) ||
          remove(oldestOfAudit.publishedBefore(auditBefore, now)),
      ),
    /** Indexes one step of the lines for searches. Answers how many; 0 = done. */
    indexStep: index.step,
  };
}
