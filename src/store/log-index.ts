import { notInArray, sql } from "drizzle-orm";
import { integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { LogEvent } from "../domain/events.ts";
import { searchedText } from "./log-text.ts";
import type { Store } from "./open.ts";
import { logCounts } from "./schema.ts";

const HOUR_MS = 3_600_000;

interface LogCount {
  /** Start of the hour, epoch ms. */
  readonly hour: number;
  readonly level: string;
  readonly source: string;
  readonly count: number;
}

/** Stored log lines by hour, level and source: kept with every change, so that statistics cost no scan. */
interface LogCounts {
  /** `by` may be negative; runs in the caller's transaction. */
  add(at: number, level: string, source: string, by: number): void;
  list(hiddenSources: readonly string[]): LogCount[];
}

export function createLogCounts({ db, read }: Store): LogCounts {
  const add = db
    .insert(logCounts)
    .values({
      hour: sql.placeholder("hour"),
      level: sql.placeholder("level"),
      source: sql.placeholder("source"),
      count: sql.placeholder("by"),
    })
    .onConflictDoUpdate({
      target: [logCounts.hour, logCounts.level, logCounts.source],
      set: { count: sql`${logCounts.count} + excluded.count` },
    })
    .prepare();
  return {
    add: (at, level, source, by) =>
      void add.run({ hour: Math.floor(at / HOUR_MS) * HOUR_MS, level, source, by }),
    list: (hiddenSources) =>
      read(() =>
        db
          .select()
          .from(logCounts)
          .where(notInArray(logCounts.source, [...hiddenSources]))
          .orderBy(logCounts.hour)
          .all(),
      ).filter(({ count }) => count > 0),
  };
}

/** The index is a virtual table, so it stands beside the schema: only its rowid and its words are written. */
const logWords = sqliteTable("log_words", { rowid: integer().primaryKey(), words: text().notNull() });

/** Fills the index of words. Message and the values of the metadata are searched, nothing else of an event. */
export function indexLogWords({ db }: Store) {
  const insert = db
    .insert(logWords)
    .values({ rowid: sql.placeholder("rowid"), words: sql.placeholder("words") })
    .prepare();
  return {
    add(id: number, event: Pick<LogEvent, "message" | "metadata">) {
      insert.run({ rowid: id, words: searchedText(event) });
    },
  };
}

/**
 * Letters and digits that the index surely knows: its Unicode is 6.1, which lacks letters that JavaScript has. What is
 * left out here is looked for in the texts themselves, which is slower and finds the same.
 */
const INDEXED =
  /[0-9]|[\p{L}&&[A-Za-z\u00c0-\u024f\u0386-\u03ce\u0400-\u04ff\u3041-\u30ff\u4e00-\u9fa5\uac00-\ud7a3]]/v;

/**
 * Condition on `events` that every word of `q` occurs. Words are data, never FTS5 syntax: each is quoted
 * (https://sqlite.org/fts5.html#fts5_strings), and one without a letter or digit that the index surely knows is
 * looked for in the texts themselves. Null when there is no word in it.
 */
export function allWordsOccur(q: string) {
  // SQLite reads the question as a C string: at NUL it would end, within quotes even.
  const words = q.split(/[\s\0]+/).filter((word) => word !== "");
  if (words.length === 0) return null;
  const indexed = words.filter((word) => INDEXED.test(word));
  const plain = words.filter((word) => !indexed.includes(word));
  const conditions = plain.map(
    (word) => sql`(instr(json_extract(events.body, '$.message'), ${word}) > 0 OR EXISTS (
      SELECT 1 FROM json_each(events.body, '$.metadata') AS meta WHERE instr(meta.value, ${word}) > 0))`,
  );
  if (indexed.length > 0) {
    const match = indexed.map((word) => `"${word.replaceAll('"', '""')}"`).join(" AND ");
    conditions.push(sql`events.id IN (SELECT rowid FROM log_words WHERE words MATCH ${match})`);
  }
  return sql.join(conditions, sql` AND `);
}

/** Removes the words of log lines: call before the lines are deleted. */
export function deleteLogWords({ db }: Store, ids: readonly number[]): void {
  for (const id of ids) db.run(sql`DELETE FROM log_words WHERE rowid = ${id}`);
}
