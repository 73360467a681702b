import { ENDINGS, REPLAY_WAITING_BYTES, type StreamClient } from "./client.ts";
import { comment, ownChunk } from "./encode.ts";
import type { Opening } from "./open-stream.ts";
import type { StreamFilter } from "./stream-filter.ts";

/** Headers that keep proxies from holding events back. */
export const SSE_HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
} as const;

/**
 * The body of a server-sent event stream. Events are pushed; the queue's size in bytes is what waits in the daemon,
 * because the server takes from it only what the socket accepts. `onEnd` is called when the daemon ends the stream.
 */
export function createSseStream(
  opening: Opening,
  filter: StreamFilter,
  onEnd: () => void,
): ReadableStream<Uint8Array> {
  let client: StreamClient | null = null;
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        client = opening.start(
          {
            kind: "sse",
            waiting: () => REPLAY_WAITING_BYTES - (controller.desiredSize ?? 0),
            send: (chunk) => controller.enqueue(chunk.bytes()),
            close(reason) {
              if (reason === "shutdown" || reason === "key") {
                controller.enqueue(ownChunk(comment(ENDINGS[reason])).bytes());
                controller.close();
              } else {
                // Without what waits: a client that does not read would keep it in memory for ever.
                controller.error(new Error("The stream was ended"));
              }
              onEnd();
            },
          },
          filter,
        );
      },
      pull: () => client?.drained(),
      cancel: () => client?.leave(),
    },
    new ByteLengthQueuingStrategy({ highWaterMark: REPLAY_WAITING_BYTES }),
  );
}
