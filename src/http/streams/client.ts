import type { Chunk } from "./encode.ts";
import type { StreamFilter } from "./stream-filter.ts";

/** A client for which more than this waits in the daemon is cut off; it resumes when it can read again. */
const MAX_WAITING_BYTES = 1024 * 1024;
/** While this much waits, a replay holds its next page back. */
export const REPLAY_WAITING_BYTES = 128 * 1024;

/** Why the daemon ends a stream, with the words for its client. */
export const ENDINGS = {
  shutdown: "licmond is shutting down",
  key: "the API key has ended",
  slow: "reads too slowly",
  failed: "internal error",
} as const;
export type Ending = keyof typeof ENDINGS;

/** What brings chunks to a client: an event stream, or a WebSocket. */
export interface Carrier {
  readonly kind: "sse" | "websocket";
  /** Bytes that wait in the daemon for the client to read them. */
  waiting(): number;
  send(chunk: Chunk): void;
  close(reason: Ending): void;
}

export type StreamClient = ReturnType<typeof createClient>;

/** The client of a stream, whatever carries it. `onGone` is called when the connection has ended, from either side. */
export function createClient(
  keyId: string,
  filter: StreamFilter,
  carrier: Carrier,
  onGone: () => void,
  onSlow: () => void,
) {
  let wake = () => {};
  const client = {
    kind: carrier.kind,
    keyId,
    filter,
    gone: false,
    /** Does not block: a client for which too much waits is cut off. */
    send(chunk: Chunk): void {
      if (client.gone) return;
      if (carrier.waiting() <= MAX_WAITING_BYTES) carrier.send(chunk);
      else {
        client.end("slow");
        onSlow();
      }
    },
    end(reason: Ending): void {
      if (client.gone) return;
      client.leave();
      carrier.close(reason);
    },
    /** The connection has ended. */
    leave(): void {
      client.gone = true;
      onGone();
      wake();
    },
    /** More may be sent. */
    drained: () => wake(),
    /** Resolves once little waits for the client; at once in the usual case. */
    async ready(): Promise<void> {
      if (client.gone || carrier.waiting() < REPLAY_WAITING_BYTES) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      wake = resolve;
      await promise;
    },
  };
  return client;
}
