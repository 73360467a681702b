import { useSignal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import type { LogEvent } from "../../domain/events.ts";
import { get, may, search } from "../api.ts";
import { exactMoment, plural } from "../format.ts";
import { now } from "../live/live.ts";
import { FormDialog } from "../parts/dialog.tsx";
import { Figure } from "../parts/figure.tsx";
import { type ListColumn, ListTable } from "../parts/list-table.tsx";
import { type Mark, State } from "../parts/marks.tsx";
import { Choice, SearchField, useSettled } from "../parts/search-field.tsx";
import { query } from "../router.ts";
import { AdminHead } from "./admin.tsx";
import { Output } from "./raw.tsx";
import { EMPTY, fieldsOf, levelsFrom, sourcesFor, type Tail, withLines } from "./tail.ts";

const LEVELS = ["info", "warn", "error"] as const;
const MARKS = { debug: "unknown", info: "info", warn: "warn", error: "crit" } as const satisfies Record<
  string,
  Mark
>;
const PAGE_ROWS = 100;

export function Logs() {
  const search = useSettled(query.value.get("q")?.trim() ?? "");
  const level = LEVELS.find((each) => each === query.value.get("level"));
  const sources = sourcesFor(may("protected_logs"));
  const source = sources.find((each) => each === query.value.get("source"));
  const filter: LogFilter = {
    ...(level !== undefined && { levels: levelsFrom(level).join(",") }),
    ...(source !== undefined && { sources: source }),
  };
  return (
    <>
      <AdminHead />
      <div class="filters log-bar">
        <SearchField label="Search the log" hint="Words that must all occur" />
        <Choice
          name="level"
          label="Level"
          values={LEVELS}
          word={(level) => (level === "error" ? "Level: error" : `Level: ${level} or worse`)}
        />
        <Choice name="source" label="Source" values={sources} />
      </div>
      {search === "" ? (
        <Following key={JSON.stringify(filter)} filter={filter} />
      ) : (
        <Found key={search + JSON.stringify(filter)} filter={filter} search={search} />
      )}
    </>
  );
}

/** Shows the end of the log. Scrolling up pauses the log; scrolling back down continues it. */
function Following({ filter }: Readonly<{ filter: LogFilter }>) {
  const tail = useSignal<Tail>(EMPTY);
  const isPaused = useSignal(false);
  const isLost = useSignal(false);
  const isRead = useSignal(false);
  const toEnd = () => scrollTo(0, document.documentElement.scrollHeight);
  const pause = (on: boolean) => {
    isPaused.value = on;
    if (on) return;
    tail.value = withLines(tail.value, [], false);
    toEnd();
  };
  useEffect(
    () =>
      followLog(filter, {
        lines(fresh) {
          isRead.value = true;
          tail.value = withLines(tail.value, fresh, isPaused.value);
        },
        lost(now) {
          isLost.value = now;
        },
      }),
    [],
  );
  useEffect(() => {
    let before = scrollY;
    const look = () => {
      const isAtEnd = innerHeight + scrollY >= document.documentElement.scrollHeight - 40;
      if (scrollY < before && !isAtEnd) pause(true);
      else if (scrollY > before && isAtEnd && isPaused.value) pause(false);
      before = scrollY;
    };
    // Runs after the layout, when new lines have their height.
    const grows = new ResizeObserver(() => {
      if (!isPaused.value) toEnd();
    });
    grows.observe(document.body);
    addEventListener("scroll", look, { passive: true });
    return () => {
      grows.disconnect();
      removeEventListener("scroll", look);
    };
  }, []);
  const { lines, waiting, isCut } = tail.value;
  return (
    <>
      <Lines label="Logs" lines={lines} />
      {isRead.value && lines.length === 0 && <p class="empty q">No line yet.</p>}
      {!isRead.value && <p class="empty q">Loading …</p>}
      <div class="tail-foot">
        <State is={isLost.value ? "warn" : isPaused.value ? "partial" : "ok"}>
          {isLost.value
            ? "The stream is interrupted and will reconnect."
            : isPaused.value
              ? "Paused"
              : "Newest at the bottom"}
        </State>
        <span class="q">
          {plural(lines.length, "line")}
          {isCut && "; use the search for older lines"}
        </span>
        <button class="btn s" type="button" onClick={() => pause(!isPaused.value)}>
          {isPaused.value
            ? waiting.length === 0
              ? "Continue"
              : `Continue: ${plural(waiting.length, "line")} new`
            : "Pause"}
        </button>
      </div>
    </>
  );
}

function Found({ filter, search }: Readonly<{ filter: LogFilter; search: string }>) {
  const [from, setFrom] = useState(0);
  return (
    <Figure
      title="Found"
      path="/api/logs/search"
      query={{ ...filter, q: search, limit: `${PAGE_ROWS}`, ...(from > 0 && { offset: `${from}` }) }}
      note={({ total }) => plural(total, "line")}
    >
      {({ logs, total }) => (
        <>
          {logs.length === 0 ? (
            <p class="q">No stored line has all these words.</p>
          ) : (
            <Lines label="Found" lines={logs} />
          )}
          {total > from + PAGE_ROWS && (
            <button class="btn" type="button" onClick={() => setFrom(from + PAGE_ROWS)}>
              Earlier lines
            </button>
          )}
        </>
      )}
    </Figure>
  );
}

const COLUMNS: readonly ListColumn<LogEvent>[] = [
  {
    head: "Time",
    width: "8rem",
    class: "a-s m",
    cell: ({ timestamp }) => exactMoment(Date.parse(timestamp), now.peek()),
  },
  {
    head: "Level",
    width: "4rem",
    class: "a-b",
    cell: ({ level }) => <State is={MARKS[level]}>{level}</State>,
  },
  { head: "Source", width: "4.5rem", class: "a-w q", cell: ({ source }) => source },
];
function Lines({ label, lines }: Readonly<{ label: string; lines: readonly LogEvent[] }>) {
  const [shown, show] = useState<LogEvent | null>(null);
  const message: ListColumn<LogEvent> = {
    head: "Message",
    width: "minmax(0, 1fr)",
    class: "a-n el",
    cell: (line) => (
      <button class="name" type="button" onClick={() => show(line)}>
        {line.message} <span class="m">{fieldsOf(line)}</span>
      </button>
    ),
  };
  return (
    <>
      <ListTable label={label} class="lt" rows={lines} columns={[...COLUMNS, message]} />
      {shown !== null && (
        <FormDialog title={shown.message} button={null} leave={() => show(null)}>
          <Output label={shown.message} text={JSON.stringify(shown, null, 2)} />
        </FormDialog>
      )}
    </>
  );
}

type LogFilter = Readonly<{ levels?: string; sources?: string }>;

interface Follower {
  lines(fresh: readonly LogEvent[]): void;
  lost(isLost: boolean): void;
}

const FIRST_LINES = 500;
const GATHER_MS = 200;
const RETRY_MS = 5_000;

/**
 * Reads the last lines of the log, then new lines from a separate stream, because the page's other stream
 * is shared by all tabs. Closes the stream while the tab is hidden, and then resumes after the last line.
 * Returns a function that stops reading.
 */
function followLog(filter: LogFilter, follower: Follower): () => void {
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
