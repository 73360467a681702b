import type { AlertEvent, DenialEvent } from "../../domain/events.ts";
import type { Patch } from "../../domain/live-picture.ts";
import { ownIds } from "../here.ts";

/** What a tab hears of the stream. `open`: events may have been missed, so read the picture; `lost`: it is not live. */
export type StreamNews =
  | { readonly type: "open" }
  | { readonly type: "lost" }
  | { readonly type: "patch"; readonly patch: Patch }
  | AlertEvent
  | DenialEvent;

/** What a tab says to the one who holds the stream. */
export type TabWord = "retry" | "rest" | "bye";

const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 15_000;
/** A stream can be dead without an error after the machine slept, which is seen by ticks that did not come. */
const TICK_MS = 10_000;
/** Metrics come once an hour, the longest there is. */
const STREAM = "./stream/combined?events=picture,alert,denial&interval=3600000";

/** Keeps an event stream open until `rest`, at a hub that of a site. A browser gives up after an HTTP error; this goes on trying. */
export function openStream(tell: (news: StreamNews) => void, site: string | null) {
  let source: EventSource | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let wait = FIRST_RETRY_MS;

  function connect(): void {
    clearTimeout(timer);
    source?.close();
    const opened = new EventSource(site !== null ? `${STREAM}&${new URLSearchParams({ site })}` : STREAM);
    source = opened;
    opened.addEventListener("open", () => {
      wait = FIRST_RETRY_MS;
      tell({ type: "open" });
    });
    opened.addEventListener("picture", ({ data }: MessageEvent<string>) =>
      tell({ type: "patch", patch: JSON.parse(ownIds(data, site)) as Patch }),
    );
    for (const name of ["alert", "denial"])
      opened.addEventListener(name, ({ data }: MessageEvent<string>) =>
        tell(JSON.parse(ownIds(data, site)) as AlertEvent | DenialEvent),
      );
    opened.addEventListener("error", () => {
      tell({ type: "lost" });
      if (opened.readyState !== EventSource.CLOSED) return;
      timer = setTimeout(connect, wait);
      wait = Math.min(2 * wait, LONGEST_RETRY_MS);
    });
  }

  connect();
  let tickedAt = Date.now();
  const ticks = setInterval(() => {
    const slept = Date.now() - tickedAt > 9 * TICK_MS;
    tickedAt = Date.now();
    if (slept && source?.readyState === EventSource.OPEN) connect();
  }, TICK_MS);
  return {
    /** Tries at once, e.g. after a sign-in, unless it is open. */
    retry(): void {
      if (source?.readyState !== EventSource.OPEN) connect();
    },
    /** For good: nobody listens any more. */
    end(): void {
      clearInterval(ticks);
      clearTimeout(timer);
      source?.close();
    },
    /** Until `retry`: for want of a sign-in there is nothing to try. */
    rest(): void {
      clearTimeout(timer);
      if (source === null || source.readyState === EventSource.CLOSED) return;
      source.close();
      // Another tab may have signed out.
      tell({ type: "lost" });
    },
  };
}
