import type { LogEvent } from "../../domain/events.ts";
import { get, search } from "../api.ts";

export type LogFilter = Readonly<{ levels?: string; sources?: string }>;

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
