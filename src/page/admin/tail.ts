import type { LogEvent } from "../../domain/events.ts";
import {
  HIDDEN_FROM_VIEWERS,
  LOG_LEVELS,
  LOG_SOURCES,
  type LogLevel,
  type LogSource,
} from "../../domain/words.ts";

export const MOST_LINES = 3_000;

/** The end of the log: shown lines, oldest first, and lines that arrived while it was paused. */
export type Tail = Readonly<{ lines: readonly LogEvent[]; waiting: readonly LogEvent[]; isCut: boolean }>;
export const EMPTY: Tail = { lines: [], waiting: [], isCut: false };

/** Adds new lines. While the log is paused the shown lines stay, so that nothing moves under the reader. */
export function withLines(
  { lines, waiting, isCut }: Tail,
  fresh: readonly LogEvent[],
  isPaused: boolean,
): Tail {
  const all = isPaused ? [...waiting, ...fresh] : [...lines, ...waiting, ...fresh];
  // Leave out known lines, because a resumed stream may repeat a line.
  const known = new Set(isPaused ? lines.map(({ id }) => id) : []);
  const once = all.filter(({ id }) => !known.has(id) && known.add(id));
  const kept = once.slice(-MOST_LINES);
  const cut = isCut || kept.length < once.length;
  return isPaused ? { lines, waiting: kept, isCut: cut } : { lines: kept, waiting: [], isCut: cut };
}

export const levelsFrom = (level: LogLevel) => LOG_LEVELS.slice(LOG_LEVELS.indexOf(level));

export const sourcesFor = (seesProtected: boolean): readonly LogSource[] =>
  LOG_SOURCES.filter((source) => seesProtected || !HIDDEN_FROM_VIEWERS.includes(source));

/** Formats a line's fields: `server=eda error="no route"`. Simple strings have no quotes. */
export function fieldsOf({ metadata }: Pick<LogEvent, "metadata">): string {
  const textOf = (value: unknown) =>
    typeof value === "string" && /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value);
  const known = Object.entries(metadata).filter(([, value]) => value !== null);
  return known.map(([name, value]) => `${name}=${textOf(value)}`).join(" ");
}
