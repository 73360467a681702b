import { textRule } from "../domain/text-types.ts";
import { LOG_LEVELS, LOG_SOURCES } from "../domain/words.ts";
import { wordsOf } from "../store/log-words.ts";
import { names, single, wordList } from "./query.ts";

/** Maximum number of words in a search, because each word costs a scan of every line. */
const MAX_WORDS = 20;
const WORDS = textRule(`at most ${MAX_WORDS} different words`, (value) => wordsOf(value).length <= MAX_WORDS);

export const searchWords = (where: string) =>
  single(WORDS, {
    type: "string",
    description: `At most ${MAX_WORDS} different words that must all occur in ${where}.`,
    example: "connection refused",
  });

/** Filter parameters of log events, for both the API and the streams. */
export const LOG_FILTER = {
  level: wordList(LOG_LEVELS, "Levels of log events. Default: all."),
  levels: wordList(LOG_LEVELS, "Same as `level`; both are combined."),
  source: wordList(LOG_SOURCES, "Components that write log events. Default: all."),
  sources: wordList(LOG_SOURCES, "Same as `source`; both are combined."),
  server_ids: names("Ids of license servers that the log events are about.", "eda"),
};

/** Joins a parameter with two names; null if neither was sent. */
export function union<T>(
  one: readonly T[] | null = null,
  other: readonly T[] | null = null,
): readonly T[] | null {
  return one === null && other === null ? null : [...new Set([...(one ?? []), ...(other ?? [])])];
}
