import type { LogEvent } from "../../domain/events.ts";
import {
  HIDDEN_FROM_VIEWERS,
  LOG_LEVELS,
  LOG_SOURCES,
  type LogLevel,
  type LogSource,
} from "../../domain/words.ts";

/** So many lines are kept of a tail, and as many that come while it is paused. */
export const MOST_LINES = 3_000;

/** The end of the log: what is shown, oldest first, and what has come since it was paused. */
export interface Tail {
  readonly lines: readonly LogEvent[];
  readonly waiting: readonly LogEvent[];
  /** Older lines were given up. */
  readonly isCut: boolean;
}
export const EMPTY: Tail = { lines: [], waiting: [], isCut: false };

/** With lines that have come. While it is paused what is shown stays, so that nothing moves under the reader. */
export function withLines(
  { lines, waiting, isCut }: Tail,
  fresh: readonly LogEvent[],
  isPaused: boolean,
): Tail {
  const all = isPaused ? [...waiting, ...fresh] : [...lines, ...waiting, ...fresh];
  // A stream that resumes may say a line again.
  const known = new Set(isPaused ? lines.map(({ id }) => id) : []);
  const once = all.filter(({ id }) => !known.has(id) && known.add(id));
  const kept = once.slice(-MOST_LINES);
  const cut = isCut || kept.length < once.length;
  return isPaused ? { lines, waiting: kept, isCut: cut } : { lines: kept, waiting: [], isCut: cut };
}

/** The levels from one on. */
export const levelsFrom = (level: LogLevel) => LOG_LEVELS.slice(LOG_LEVELS.indexOf(level));

/** The sources that a role may read. */
export const sourcesFor = (seesProtected: boolean): readonly LogSource[] =>
  LOG_SOURCES.filter((source) => seesProtected || !HIDDEN_FROM_VIEWERS.includes(source));

/** A line's fields behind its message: `server=eda error="no route"`; a text without quotes where it needs none. */
export function fieldsOf({ metadata }: Pick<LogEvent, "metadata">): string {
  const textOf = (value: unknown) =>
    typeof value === "string" && /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value);
  const known = Object.entries(metadata).filter(([, value]) => value !== null);
  return known.map(([name, value]) => `${name}=${textOf(value)}`).join(" ");
}
