import type { AlertEvent, DenialEvent } from "../../domain/events.ts";
import type { Patch } from "../../domain/live-picture.ts";
import { ownIds } from "../here.ts";

/**
 * Messages from the stream to a tab. After `open`, the tab must read the picture, because it may have
 * missed events. `lost` means that nothing is live and no event came for `silentMs`, which a worker of an
 * older version does not send.
 */
export type StreamNews =
  | { readonly type: "open" }
  | { readonly type: "lost"; readonly silentMs?: number }
  | { readonly type: "patch"; readonly patch: Patch }
  | AlertEvent
  | DenialEvent;

export type TabWord = "retry" | "rest" | "bye";

const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 15_000;
/**
 * Time without data after which the stream counts as lost, because a hanging daemon does not end its
 * connections. Heartbeats come every 15 s.
 */
export const SILENT_MS = 40_000;
const TICK_MS = 1_000;
/** Address of the stream. It requests metrics once an hour, the longest interval that the API allows. */
const STREAM = "./stream/combined?events=picture,alert,denial&interval=3600000&heartbeat=event";

/** Keeps an event stream open until `rest`. Retries after HTTP errors, which browsers do not. */
export function openStream(tell: (news: StreamNews) => void, site: string | null) {
  let source: EventSource | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let wait = FIRST_RETRY_MS;
  let heardAt = Date.now();
  const lost = (silentMs = 0) => tell({ type: "lost", silentMs });

  function connect(): void {
    clearTimeout(timer);
    source?.close();
    heardAt = Date.now();
    const opened = new EventSource(site !== null ? `${STREAM}&${new URLSearchParams({ site })}` : STREAM);
    source = opened;
    const on = (name: string, take: (data: string) => void) =>
      opened.addEventListener(name, ({ data }: MessageEvent<string>) => {
        heardAt = Date.now();
        take(data);
      });
    on("open", () => {
      wait = FIRST_RETRY_MS;
      tell({ type: "open" });
    });
    on("heartbeat", () => {});
    on("picture", (data) => tell({ type: "patch", patch: JSON.parse(ownIds(data, site)) as Patch }));
    for (const name of ["alert", "denial"])
      on(name, (data) => tell(JSON.parse(ownIds(data, site)) as AlertEvent | DenialEvent));
    opened.addEventListener("error", () => {
      lost();
      if (opened.readyState !== EventSource.CLOSED) return;
      timer = setTimeout(connect, wait);
      wait = Math.min(2 * wait, LONGEST_RETRY_MS);
    });
  }

  connect();
  const ticks = setInterval(() => {
    const silentMs = Date.now() - heardAt;
    if (silentMs < SILENT_MS || source?.readyState !== EventSource.OPEN) return;
    lost(silentMs);
    connect();
  }, TICK_MS);
  return {
    /** Retries at once, for example after a sign-in, unless the stream is open. */
    retry(): void {
      if (source?.readyState !== EventSource.OPEN) connect();
    },
    end(): void {
      clearInterval(ticks);
      clearTimeout(timer);
      source?.close();
    },
    /** Pauses until `retry`, because without a sign-in there is nothing to try. */
    rest(): void {
      clearTimeout(timer);
      if (source === null || source.readyState === EventSource.CLOSED) return;
      source.close();
      // Tell all tabs, because another tab may have signed out.
      lost();
    },
  };
}
