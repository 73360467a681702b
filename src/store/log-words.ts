import type { LogEvent } from "../domain/events.ts";
import { DamagedValue } from "./database/store-error.ts";
import type { Store } from "./open/open.ts";

/**
 * Number of lines per row of the index. Collecting the words of a row takes a few ms and a few tens of kB.
 */
const RUN_LINES = 500;

const BLANKS = /[\s\0]+/;

/** Returns the distinct folded words of a search. Every non-blank character counts. */
export function wordsOf(q: string): string[] {
  return [...new Set(folded(q).split(BLANKS))].filter((word) => word !== "");
}

/** Reports whether an index row can contain a line with all words. */
export function mayHave(indexed: string, words: readonly string[]): boolean {
  if (typeof indexed !== "string") throw new DamagedValue("A row of the index of log words is not a text");
  return words.every((word) => indexed.includes(word));
}

/**
 * Returns a function that reports whether a log line (JSON) contains every word in its message or metadata,
 * ignoring case and accents. Where a word begins or ends with a letter or digit, the match must begin or
 * end at a word boundary.
 */
export function lineMatcher(words: readonly string[]): (json: string) => boolean {
  const isMatch = wordMatcher(words);
  // ASCII words without quotes and backslashes appear literally in JSON. Look for them first, because
  // parsing would triple the cost.
  const literal = words.filter((word) => /^[!#-[\]-~]+$/.test(word));
  return (json) => {
    if (typeof json !== "string") throw new DamagedValue("A stored log line is not a text");
    if (isAscii(json)) {
      const upper = json.toUpperCase();
      if (!literal.every((word) => upper.includes(word))) return false;
    }
    return isMatch(searchedText(json));
  };
}

export function wordMatcher(words: readonly string[]): (text: string) => boolean {
  const letter = "[\\p{L}\\p{N}]";
  const whole = words.map((word) => {
    const before = new RegExp(`^${letter}`, "u").test(word) ? `(?<!${letter})` : "";
    const after = new RegExp(`${letter}$`, "u").test(word) ? `(?!${letter})` : "";
    return { word, pattern: new RegExp(before + RegExp.escape(word) + after, "u") };
  });
  return (plain) => {
    const text = folded(plain);
    return whole.every(({ word, pattern }) => text.includes(word) && pattern.test(text));
  };
}

/** Indexes words of stored lines later, so that storing a line stays cheap. */
export function createLogIndex({ sqlite, transaction }: Pick<Store, "sqlite" | "transaction">) {
  const indexedThrough = sqlite.query<{ id: number | null }, []>(
    "SELECT max(through_id) AS id FROM log_words",
  );
  const next = sqlite.query<{ id: number; body: string }, [number]>(
    `SELECT id, body FROM events WHERE type = 'log' AND id > ? ORDER BY id LIMIT ${RUN_LINES}`,
  );
  const insert = sqlite.query<null, [number, number, string]>("INSERT INTO log_words VALUES (?, ?, ?)");
  const forget = sqlite.query<null, [number]>("DELETE FROM log_words WHERE through_id <= ?");
  return {
    step: (): number =>
      transaction(() => {
        const lines = next.all(indexedThrough.get()?.id ?? 0);
        const [first, last] = [lines[0], lines.at(-1)];
        if (first === undefined || last === undefined || lines.length < RUN_LINES) return 0;
        const words = new Set<string>();
        for (const { body } of lines)
          for (const word of folded(searchedText(body)).split(BLANKS)) words.add(word);
        insert.run(first.id, last.id, [...words].join("\n"));
        return lines.length;
      }),
    deleted: (through: number) => void forget.run(through),
  };
}

/** Parses a stored log line. Throws DamagedValue if the line is malformed. */
export function parseLine(json: string): LogEvent {
  try {
    const line = JSON.parse(json) as LogEvent | null;
    if (typeof line?.message === "string" && typeof line.metadata === "object") return line;
  } catch {}
  throw new DamagedValue("A stored log line is damaged");
}

/** Returns the searchable text of a line: its message and the values of its metadata, one per line. */
function searchedText(json: string): string {
  const { message, metadata } = parseLine(json);
  const values = Object.values(metadata).filter(
    (value) => typeof value === "string" || typeof value === "number",
  );
  return [message, ...values].join("\n");
}

/**
 * Removes accents and converts to upper case. Lower case would depend on the context (the Greek final
 * sigma).
 */
function folded(text: string): string {
  // Most text is ASCII, which has no accents.
  if (isAscii(text)) return text.toUpperCase();
  return text
    .normalize("NFD")
    .replaceAll(/[\u0300-\u036f]/g, "")
    .toUpperCase();
}

function isAscii(text: string): boolean {
  return /^[\0-\x7f]*$/.test(text);
}
