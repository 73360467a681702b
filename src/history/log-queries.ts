import type { LogLevel, LogSource } from "../domain/words.ts";
import type { Rows } from "../store/conditions.ts";
import { allOf, type Condition, compared, noneOf, oneOf } from "../store/conditions.ts";
import { lineMatcher, mayHave, parseLine, wordsOf } from "../store/log-words.ts";
import type { HistorySource } from "./reader.ts";

/** Selects log lines; in each field, null means all. Times are epoch ms, [start, end). */
export interface LogFilter {
  readonly sites?: readonly string[] | null;
  readonly levels: readonly LogLevel[] | null;
  readonly sources: readonly string[] | null;
  readonly serverIds: readonly string[] | null;
  readonly start: number | null;
  readonly end: number | null;
  readonly q: string | null;
  readonly hiddenSources: readonly LogSource[];
}

export type FoundLogs = { readonly rows: readonly string[]; readonly total: number };

type LogRead = Rows & Pick<HistorySource, "checkpoint">;

const LINES_AT_ONCE = 2_000;
const INDEX_ROWS_AT_ONCE = 50;

export function searchLogs(read: LogRead, filter: LogFilter, limit: number, offset: number): FoundLogs {
  const condition = conditionOf(filter);
  const words = wordsOf(filter.q ?? "");
  if (words.length > 0) return withWords(read, condition, words, limit, offset);
  const rows = read.all<{ body: string }>(
    `SELECT body FROM events WHERE ${condition.sql} ORDER BY id DESC LIMIT ? OFFSET ?`,
    ...condition.values,
    limit,
    offset,
  );
  for (const { body } of rows) parseLine(body);
  read.checkpoint();
  return { rows: rows.map(({ body }) => body), total: countLogs(read, filter, condition) };
}

function countLogs(read: LogRead, filter: LogFilter, condition: Condition): number {
  const { serverIds, start, end } = filter;
  const count = (what: string, { sql, values }: Condition) =>
    read.all<{ total: number | null }>(`SELECT ${what} AS total FROM ${sql}`, ...values)[0]?.total ?? 0;
  if (serverIds === null && start === null && end === null) {
    const kinds = kindsOf(filter);
    return count("sum(count)", { ...kinds, sql: `log_counts WHERE ${kinds.sql}` });
  }
  return count("count(*)", { ...condition, sql: `events WHERE ${condition.sql}` });
}

/** Searches from the newest line to the oldest, using the index to skip runs of lines that lack a word. */
function withWords(
  read: LogRead,
  { sql, values }: Condition,
  words: readonly string[],
  limit: number,
  offset: number,
): FoundLogs {
  const matches = lineMatcher(words);
  const rows: string[] = [];
  let total = 0;

  function look(from: number, before: number): void {
    for (let end = before; ; ) {
      const lines = read.all<{ id: number; body: string }>(
        `SELECT id, body FROM events WHERE ${sql} AND id >= ? AND id < ? ORDER BY id DESC LIMIT ${LINES_AT_ONCE}`,
        ...values,
        from,
        end,
      );
      for (const { body } of lines) {
        if (!matches(body)) continue;
        if (total >= offset && rows.length < limit) rows.push(body);
        total++;
      }
      read.checkpoint();
      const last = lines.at(-1);
      if (last === undefined || lines.length < LINES_AT_ONCE) return;
      end = last.id;
    }
  }

  let end = Number.MAX_SAFE_INTEGER;
  for (;;) {
    const runs = read.all<{ from: number; through: number; words: string }>(
      `SELECT from_id AS "from", through_id AS through, words FROM log_words WHERE from_id < ?
       ORDER BY from_id DESC LIMIT ${INDEX_ROWS_AT_ONCE}`,
      end,
    );
    for (const run of runs) {
      look(run.through + 1, end);
      if (mayHave(run.words, words)) look(run.from, run.through + 1);
      end = run.from;
    }
    read.checkpoint();
    if (runs.length < INDEX_ROWS_AT_ONCE) break;
  }
  look(0, end);
  return { rows, total };
}

/** Counts stored lines; `byHour` has the hours with lines, oldest first; `sizeBytes` covers all sources. */
export function logStats(read: LogRead, hidden: readonly LogSource[]) {
  const { sql, values } = noneOf("source", hidden);
  const sums = <Key extends string | number>(column: "level" | "source" | "hour") =>
    read.all<{ key: Key; count: number }>(
      `SELECT ${column} AS key, sum(count) AS count FROM log_counts WHERE ${sql}
       GROUP BY ${column} HAVING sum(count) > 0 ORDER BY ${column}`,
      ...values,
    );
  const asRecord = (list: readonly { key: string; count: number }[]) =>
    Object.fromEntries(list.map(({ key, count }) => [key, count]));
  const edge = (direction: "ASC" | "DESC") =>
    read.all<{ at: number }>(
      `SELECT at FROM events WHERE type = 'log' AND ${sql} ORDER BY id ${direction} LIMIT 1`,
      ...values,
    )[0]?.at ?? null;
  const bySource = sums<string>("source");
  const [size] = read.all<{ value: number }>("SELECT value FROM event_marks WHERE name = 'log_bytes'");
  return {
    total: bySource.reduce((sum, { count }) => sum + count, 0),
    byLevel: asRecord(sums<string>("level")),
    bySource: asRecord(bySource),
    byHour: sums<number>("hour").map(({ key: hour, count }) => ({ hour, count })),
    oldestAt: edge("ASC"),
    newestAt: edge("DESC"),
    sizeBytes: size?.value ?? 0,
  };
}

function kindsOf({ levels, sources, hiddenSources }: LogFilter): Condition {
  return allOf([noneOf("source", hiddenSources), oneOf("level", levels), oneOf("source", sources)]);
}

function conditionOf(filter: LogFilter): Condition {
  const { sources, serverIds, start, end } = filter;
  // Sources and servers have their own indexes; the plus keeps SQLite from using the index of types
  // instead.
  const type = sources === null && serverIds === null ? "type" : "+type";
  return allOf([
    { sql: `${type} = 'log'`, values: [] },
    kindsOf(filter),
    oneOf("server", serverIds),
    // A line's id is never less than its time, so this condition skips older lines in the order of ids.
    compared("id >=", start),
    compared("at >=", start),
    compared("at <", end),
  ]);
}
