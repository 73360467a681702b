import type { Chunk } from "./encode.ts";
import type { CatchingUp, Opening } from "./open-stream.ts";
import type { StreamFilter } from "./stream-filter.ts";

/** A client for which this much waits in the daemon is cut off; it resumes when it can read again. */
export const MAX_WAITING_BYTES = 1024 * 1024;
/** While this much waits, a replay holds its next page back. */
const REPLAY_WAITING_BYTES = 128 * 1024;
/** What browsers wait before they connect again. */
const RETRY_MS = 3_000;

const encoder = new TextEncoder();
const HEARTBEAT = encoder.encode(":\n\n");

/** Headers that keep proxies from holding events back. */
export const SSE_HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
} as const;

export interface SseOptions extends Omit<Opening, "sight"> {
  readonly filter: StreamFilter;
  /** Called when the daemon ends the stream, for whatever reason. */
  readonly onEnd: () => void;
}

/**
 * The body of a server-sent event stream. Events are pushed; the queue's size in bytes is what waits in the daemon,
 * because the server takes from it only what the socket accepts.
 */
export function createSseStream(options: SseOptions): ReadableStream<Uint8Array> {
  const { filter, keyId, hub, from, notes, begin, onSlow, onEnd, onError } = options;
  let wake: (() => void) | null = null;
  let client: (CatchingUp & { leave(): void }) | null = null;

  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const opened = createClient(controller);
        client = opened;
        opened.put(encoder.encode(opening(from, notes)));
        hub.enter(opened);
        begin(opened).catch((error: unknown) => {
          opened.abort();
          onError(error);
        });
      },
      pull() {
        wake?.();
        wake = null;
      },
      cancel() {
        client?.leave();
      },
    },
    new ByteLengthQueuingStrategy({ highWaterMark: REPLAY_WAITING_BYTES }),
  );

  function createClient(controller: ReadableStreamDefaultController<Uint8Array>) {
    const waiting = () => REPLAY_WAITING_BYTES - (controller.desiredSize ?? 0);
    const leave = () => {
      if (self.gone) return;
      self.gone = true;
      hub.leave(self);
      wake?.();
    };
    const self = {
      kind: "sse" as const,
      filter,
      keyId,
      gone: false,
      leave,
      put(bytes: Uint8Array) {
        if (self.gone) return;
        if (waiting() + bytes.byteLength > MAX_WAITING_BYTES) {
          onSlow();
          self.abort();
        } else controller.enqueue(bytes);
      },
      send: (chunk: Chunk) => self.put(chunk.bytes()),
      note: (text: string) => self.put(encoder.encode(`:${text}\n\n`)),
      heartbeat: () => self.put(HEARTBEAT),
      end(reason: "shutdown" | "key") {
        if (self.gone) return;
        const goodbye = reason === "shutdown" ? "licmond is shutting down" : "the API key has ended";
        self.put(encoder.encode(`:${goodbye}\n\n`));
        if (self.gone) return;
        leave();
        controller.close();
        onEnd();
      },
      /** Ends without what waits: a client that does not read would keep it in memory for ever. */
      abort() {
        if (self.gone) return;
        leave();
        controller.error(new Error("The stream was ended"));
        onEnd();
      },
      ready(): Promise<void> {
        if (self.gone || waiting() < REPLAY_WAITING_BYTES) return Promise.resolve();
        return new Promise((resolve) => {
          wake = resolve;
        });
      },
    };
    return self;
  }
}

/** The first lines: `:resume from <n>` first of all, then the time to reconnect, each a block of its own. */
function opening(from: number | null, notes: readonly string[]): string {
  const resume = from === null ? "" : `:resume from ${from}\n\n`;
  return `${resume}retry: ${RETRY_MS}\n\n${notes.map((note) => `:${note}\n\n`).join("")}`;
}
