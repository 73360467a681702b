import { and, asc, desc, eq, gte, inArray, lt, lte, ne, notInArray, type SQL, sql } from "drizzle-orm";
import type { LogLevel, LogSource } from "../domain/words.ts";
import { createMarks, createToldBefore } from "./event-marks.ts";
import { allWordsOccur, createLogCounts, deleteLogWords } from "./log-index.ts";

import type { Store } from "./open.ts";
import { events } from "./schema.ts";

/** Lines deleted in one transaction: a few milliseconds. */
const STEP_ROWS = 500;
/** Lines of this source are the audit trail: no clearing and no limit of size takes them. */
const AUDIT: LogSource = "audit";

/** Which log lines are meant; null = all. Times are epoch ms, [start, end). */
export interface LogFilter {
  readonly levels: readonly LogLevel[] | null;
  readonly sources: readonly string[] | null;
  readonly serverIds: readonly string[] | null;
  readonly start: number | null;
  readonly end: number | null;
  /** Words that must all occur. */
  readonly q: string | null;
  /** Sources that the caller may not see. */
  readonly hiddenSources: readonly LogSource[];
}

export interface FoundLogs {
  /** JSON texts of the log events asked for. */
  readonly rows: readonly string[];
  /** How many match in all. */
  readonly total: number;
}

export interface LogStats {
  readonly total: number;
  readonly byLevel: Readonly<Record<string, number>>;
  readonly bySource: Readonly<Record<string, number>>;
  /** Hours that have lines, oldest first. */
  readonly byHour: readonly { readonly hour: number; readonly count: number }[];
  readonly oldestAt: number | null;
  readonly newestAt: number | null;
  /** Bytes of the stored lines of all sources. */
  readonly sizeBytes: number;
}

export interface Logs {
  /** The last `lines` matches, oldest first. */
  recent(filter: LogFilter, lines: number): FoundLogs;
  /** Matches, newest first. */
  search(filter: LogFilter, limit: number, offset: number): FoundLogs;
  stats(hiddenSources: readonly LogSource[]): LogStats;
  /**
   * Deletes one step of the lines told before `before` (null = all up to `through`), audit lines spared.
   * Answers how many; 0 = done.
   */
  clearStep(before: number | null, through: number): number;
  /** Deletes one step of what is too old, or too much. Answers how many; 0 = done. */
  retainStep(keep: {
    readonly now: number;
    readonly logsBefore: number;
    readonly auditBefore: number;
    readonly maxBytes: number;
  }): number;
}

export function createLogs(store: Store): Logs {
  const { db, read } = store;
  const marks = createMarks(store);
  const counts = createLogCounts(store);
  const isLog = eq(events.type, "log");
  const told = createToldBefore(store, `type = 'log' AND source <> '${AUDIT}'`);
  const auditTold = createToldBefore(store, `type = 'log' AND source = '${AUDIT}'`);

  const edge = (hidden: readonly LogSource[], direction: typeof asc | typeof desc) =>
    db
      .select({ at: events.at })
      .from(events)
      .where(and(isLog, notInArray(events.source, [...hidden])))
      .orderBy(direction(events.id))
      .limit(1)
      .get()?.at ?? null;

  function deleteWhere(condition: SQL | undefined): number {
    return store.transaction(() => {
      const doomed = db
        .select()
        .from(events)
        .where(and(isLog, condition))
        .orderBy(asc(events.id))
        .limit(STEP_ROWS)
        .all();
      const ids = doomed.map(({ id }) => id);
      const last = ids.at(-1);
      if (last === undefined) return 0;
      deleteLogWords(store, ids);
      db.delete(events).where(inArray(events.id, ids)).run();
      for (const { at, level, source } of doomed) counts.add(at, level ?? "", source ?? "", -1);
      marks.add("log_bytes", -doomed.reduce((sum, { body }) => sum + body.length, 0));
      marks.raise("deleted_logs", last);
      return doomed.length;
    });
  }

  function find(filter: LogFilter, limit: number, offset: number): FoundLogs {
    return read(() => {
      const condition = conditionOf(filter);
      const rows = db
        .select({ body: events.body })
        .from(events)
        .where(condition)
        .orderBy(desc(events.id))
        .limit(limit)
        .offset(offset)
        .all();
      const total = db.select({ count: sql<number>`count(*)` }).from(events).where(condition).get();
      return { rows: rows.map(({ body }) => body), total: total?.count ?? 0 };
    });
  }

  return {
    recent(filter, lines) {
      const { rows, total } = find(filter, lines, 0);
      return { rows: rows.toReversed(), total };
    },
    search: find,
    stats: (hidden) =>
      read(() => {
        const list = counts.list(hidden);
        const sumBy = (key: "level" | "source" | "hour") => {
          const sums = new Map<string | number, number>();
          for (const each of list) sums.set(each[key], (sums.get(each[key]) ?? 0) + each.count);
          return sums;
        };
        return {
          total: list.reduce((sum, { count }) => sum + count, 0),
          byLevel: Object.fromEntries(sumBy("level")),
          bySource: Object.fromEntries(sumBy("source")),
          byHour: [...sumBy("hour")].map(([hour, count]) => ({ hour: Number(hour), count })),
          oldestAt: edge(hidden, asc),
          newestAt: edge(hidden, desc),
          sizeBytes: marks.get("log_bytes"),
        };
      }),
    clearStep: (before, through) =>
      deleteWhere(
        and(
          ne(events.source, AUDIT),
          lte(events.id, through),
          before === null ? undefined : lt(events.at, before),
        ),
      ),
    retainStep({ now, logsBefore, auditBefore, maxBytes }) {
      const notAudit = ne(events.source, AUDIT);
      if (marks.get("log_bytes") > maxBytes) {
        const tooMuch = deleteWhere(notAudit);
        if (tooMuch > 0) return tooMuch;
      }
      const tooOld = deleteWhere(and(told(logsBefore, now), notAudit));
      return tooOld > 0 ? tooOld : deleteWhere(and(auditTold(auditBefore, now), eq(events.source, AUDIT)));
    },
  };

  function conditionOf(filter: LogFilter): SQL | undefined {
    const { levels, sources, serverIds, start, end, q, hiddenSources } = filter;
    return and(
      isLog,
      levels === null ? undefined : inArray(events.level, [...levels]),
      sources === null ? undefined : inArray(events.source, [...sources]),
      serverIds === null ? undefined : inArray(events.server, [...serverIds]),
      start === null ? undefined : and(gte(events.id, start), gte(events.at, start)),
      end === null ? undefined : lt(events.at, end),
      hiddenSources.length === 0 ? undefined : notInArray(events.source, [...hiddenSources]),
      q === null ? undefined : (allWordsOccur(q) ?? undefined),
    );
  }
}
