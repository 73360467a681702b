import type { LogEvent } from "../../domain/events.ts";
import {
  HIDDEN_FROM_VIEWERS,
  LOG_LEVELS,
  LOG_SOURCES,
  type LogLevel,
  type LogSource,
} from "../../domain/words.ts";
import { get, search } from "../api.ts";

export interface LogFilter {
  readonly levels?: string;
  readonly sources?: string;
}

interface Follower {
  lines(fresh: readonly LogEvent[]): void;
  lost(isLost: boolean): void;
}

const FIRST_LINES = 500;
const GATHER_MS = 200;
const RETRY_MS = 5_000;

/**
 * Reads the last lines, then new ones from a separate stream: all tabs share the other one. Closes the
 * stream while the tab is hidden and resumes after the last line. Returns a function that stops it.
 */
export function followLog(filter: LogFilter, follower: Follower): () => void {
  const end = new AbortController();
  let source: EventSource | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let last: string | null = null;
  let isRead = false;
  let gathered: LogEvent[] = [];

  function take(fresh: readonly LogEvent[]): void {
    last = fresh.at(-1)?.id ?? last;
    follower.lines(fresh);
  }

  async function begin(): Promise<void> {
    clearTimeout(timer);
    source?.close();
    source = null;
    if (document.hidden) return;
    try {
      if (!isRead)
        take((await get("/api/logs/recent", { ...filter, lines: `${FIRST_LINES}` }, end.signal)).logs);
      isRead = true;
    } catch {
      if (!end.signal.aborted) lose();
    }
    if (!isRead || end.signal.aborted || source !== null || document.hidden) return;
    const opened = new EventSource(
      `./stream/logs${search({ ...filter, events: "log", ...(last !== null && { last_event_id: last }) })}`,
    );
    source = opened;
    opened.addEventListener("open", () => follower.lost(false));
    opened.addEventListener("log", ({ data }: MessageEvent<string>) => {
      if (gathered.push(JSON.parse(data) as LogEvent) === 1)
        setTimeout(() => {
          const fresh = gathered;
          gathered = [];
          if (!end.signal.aborted) take(fresh);
        }, GATHER_MS);
    });
    // A browser reconnects by itself, but not after an HTTP error.
    opened.addEventListener("error", () => {
      if (opened.readyState === EventSource.CLOSED) lose();
      else follower.lost(true);
    });
  }

  function lose(): void {
    follower.lost(true);
    timer = setTimeout(() => void begin(), RETRY_MS);
  }

  document.addEventListener("visibilitychange", () => void begin(), { signal: end.signal });
  void begin();
  return () => {
    end.abort();
    clearTimeout(timer);
    source?.close();
  };
}

/** Maximum number of lines kept, and of lines that arrive while the log is paused. */
export const MOST_LINES = 3_000;

/** The end of the log: shown lines, oldest first, and lines that arrived while it was paused. */
export interface Tail {
  readonly lines: readonly LogEvent[];
  readonly waiting: readonly LogEvent[];
  readonly isCut: boolean;
}
export const EMPTY: Tail = { lines: [], waiting: [], isCut: false };

/** Adds new lines. While the log is paused the shown lines stay, so that nothing moves under the reader. */
export function withLines(
  { lines, waiting, isCut }: Tail,
  fresh: readonly LogEvent[],
  isPaused: boolean,
): Tail {
  const all = isPaused ? [...waiting, ...fresh] : [...lines, ...waiting, ...fresh];
  // A resumed stream may repeat a line.
  const known = new Set(isPaused ? lines.map(({ id }) => id) : []);
  const once = all.filter(({ id }) => !known.has(id) && known.add(id));
  const kept = once.slice(-MOST_LINES);
  const cut = isCut || kept.length < once.length;
  return isPaused ? { lines, waiting: kept, isCut: cut } : { lines: kept, waiting: [], isCut: cut };
}

export const levelsFrom = (level: LogLevel) => LOG_LEVELS.slice(LOG_LEVELS.indexOf(level));

export const sourcesFor = (seesProtected: boolean): readonly LogSource[] =>
  LOG_SOURCES.filter((source) => seesProtected || !HIDDEN_FROM_VIEWERS.includes(source));

/**
 * Formats a line's fields after its message: `server=eda error="no route"`. Simple strings have no quotes.
 */
export function fieldsOf({ metadata }: Pick<LogEvent, "metadata">): string {
  const textOf = (value: unknown) =>
    typeof value === "string" && /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value);
  const known = Object.entries(metadata).filter(([, value]) => value !== null);
  return known.map(([name, value]) => `${name}=${textOf(value)}`).join(" ");
}
