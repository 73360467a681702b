import { type TSchema, Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { ApiError } from "../../domain/errors.ts";
import { EVENT_SCHEMAS, type EventType } from "../../domain/events.ts";
import { record } from "../../domain/records.ts";
import { documented } from "../docs/documented.ts";
import { type Exchange, gated, KEY_PROTOCOL, keyOfProtocols, requireLabels } from "../exchange.ts";
import { type CheckSites, SITE } from "../lists/lists.ts";
import { queryOf } from "../query.ts";
import { byLabels } from "../snapshot.ts";
import { ENDINGS, type StreamClient } from "../streams/broadcaster.ts";
import { comment, ownChunk } from "../streams/encode.ts";
import { type Opening, openStream } from "../streams/open-stream.ts";
import {
  STREAM_NAMES,
  STREAM_QUERIES,
  type StreamName,
  type StreamQuery,
  type Wanted,
} from "../streams/stream-filter.ts";
import { createSocketHandlers } from "../streams/websocket.ts";
import type { RouteDeps } from "./deps.ts";

const STREAMS = {
  logs: { access: "logs", summary: "The service's own log", events: ["log"] },
  metrics: { access: "read", summary: "Load of the host, and total seats", events: ["metrics"] },
  combined: { access: "read", summary: "All events", events: Object.keys(EVENT_SCHEMAS) as EventType[] },
} as const;

/** `/api/logs/stream` is the older name of `/stream/logs`. */
const SSE_PATHS: readonly (readonly [string, StreamName])[] = [
  ["/stream/logs", "logs"],
  ["/api/logs/stream", "logs"],
  ["/stream/metrics", "metrics"],
  ["/stream/combined", "combined"],
];

/**
 * Maximum time for the pending bytes of an ended stream. Without it, a client that never reads would keep
 * its connection forever.
 */
const LINGER_SECONDS = 10;

/** Serves server-sent events, and WebSockets with the same parameters and objects. */
export function streamRoutes(
  { log, streams, live }: Pick<RouteDeps, "log" | "streams" | "live">,
  checkSites: CheckSites | null = null,
) {
  const http = log("http");
  const ofSites = checkSites !== null;
  const queries = ofSites ? QUERIES_OF_SITES : STREAM_QUERIES;

  /** Replaces labels by servers. Throws NOT_FOUND for unknown names. */
  function byServers(wanted: Wanted): Wanted {
    if (wanted.site) checkSites?.(wanted.site);
    const resolved = byLabels(live.snapshot(), wanted);
    if (ofSites && wanted.events?.includes("picture") && !resolved.site && !resolved.server)
      throw new ApiError(
        "INVALID_QUERY",
        "The pictures of a whole fleet are too large for one stream; add site= or server=.",
      );
    return resolved;
  }

  function open(stream: StreamName, exchange: Exchange, query: Wanted) {
    byServers(query);
    return openStream(streams, http, stream, exchange, query.last_event_id ?? null);
  }

  function sendEvents(opening: Opening, { request, listener }: Exchange, query: Wanted): Response {
    // Bun closes silent connections, but a stream may be quiet.
    listener?.timeout(request, 0);
    if (request.method === "HEAD") return new Response(null, { headers: SSE_HEADERS });
    const onEnd = () => listener?.timeout(request, LINGER_SECONDS);
    return new Response(createSseStream(opening, byServers(query), onEnd), { headers: SSE_HEADERS });
  }

  function upgrade(stream: StreamName, exchange: Exchange, query: Wanted): undefined {
    const { request, listener } = exchange;
    if (request.headers.get("upgrade")?.toLowerCase() !== "websocket") {
      throw new ApiError(
        "INVALID_FIELD",
        `${exchange.path} is a WebSocket: open it with ws:// and an Upgrade header, or use /stream/${stream}.`,
      );
    }
    const { caller } = exchange;
    const resolve = (wanted: Wanted) => {
      if ("label" in wanted && wanted.label) requireLabels({ caller });
      return byServers(wanted);
    };
    const data = createSocketHandlers(
      open(stream, exchange, query),
      exchange.query,
      () => performance.now(),
      resolve,
      queries[stream],
    );
    const accepted = keyOfProtocols(request) !== null ? { "sec-websocket-protocol": KEY_PROTOCOL } : {};
    if (listener?.upgrade(request, { headers: { ...exchange.headers, ...accepted }, data }) === true) return;
    throw new ApiError("INVALID_FIELD", "The WebSocket handshake is not complete (RFC 6455, section 4.2.1).");
  }

  const routes = new Elysia({ name: "routes/streams" }).use(gated);
  for (const [path, stream] of SSE_PATHS) {
    const { access, summary, schema, ...doc } = docOf(stream, queries[stream], ofSites);
    routes.get(
      path,
      ({ exchange, query }) => sendEvents(open(stream, exchange, query), exchange, query),
      documented(access, "Streams", summary, {
        ...doc,
        answers: {
          200: {
            description:
              "Frames of `event`, `id` and `data`; data is one of these JSON objects. With Last-Event-ID the first line is `:resume from <id>`.",
            content: { "text/event-stream": { schema } },
          },
        },
      }),
    );
  }
  for (const stream of STREAM_NAMES) {
    const { access, summary, schema, ...doc } = docOf(stream, queries[stream], ofSites);
    routes.get(
      `/ws/${stream}`,
      ({ exchange, query }) => upgrade(stream, exchange, query),
      documented(access, "Streams", summary, {
        ...doc,
        description:
          'Sends one JSON object per message. Accepts {"type":"ping"} and {"type":"subscribe", …parameters of the query…}; other messages are answered with {"type":"error"}, and the connection stays open.',
        answers: {
          // OpenAPI cannot describe messages, so they are documented as the body of the 101.
          101: {
            description: "Switching to WebSocket. Each text message is one of these objects.",
            content: { "application/json": { schema } },
          },
        },
        errors: ["INVALID_FIELD", ...doc.errors],
      }),
    );
  }
  return routes;
}

const QUERIES_OF_SITES = {
  ...STREAM_QUERIES,
  logs: queryOf({ ...STREAM_QUERIES.logs.parameters, ...SITE }),
  combined: queryOf({ ...STREAM_QUERIES.combined.parameters, ...SITE }),
};

/**
 * Returns the schema of an event. If there are several sites, all events except samples of the host have a
 * site.
 */
function schemaOf(type: EventType, ofSites: boolean): TSchema {
  const schema: TSchema = EVENT_SCHEMAS[type];
  if (!ofSites || type === "metrics") return schema;
  return record(`${schema.title}AtHub`, { site: Type.String(), ...schema.properties });
}

function docOf(stream: StreamName, query: StreamQuery, ofSites: boolean) {
  const { events, ...head } = STREAMS[stream];
  const sent = events.map((type) => schemaOf(type, ofSites));
  return {
    ...head,
    keyInQuery: true,
    query,
    requestHeaders: {
      "Last-Event-ID": {
        description: "Resume after this event: `<n>` or `log-<n>`; empty counts as absent",
        example: "1769847330123",
      },
    },
    errors: ["SERVICE_UNAVAILABLE"] as const,
    schema: sent.length === 1 ? { ...sent[0] } : { oneOf: sent },
  };
}

/** Keeps proxies from buffering events. */
const SSE_HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
} as const;

/**
 * Returns the body of an event stream. The server takes only as much as the socket accepts, so waiting
 * bytes are in the stream's queue. `onEnd` is called when the daemon ends the stream.
 */
function createSseStream(opening: Opening, wanted: Wanted, onEnd: () => void): ReadableStream<Uint8Array> {
  let client: StreamClient | null = null;
  let lastBytes = 0;
  let isIdle = true;
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        client = opening.start(
          {
            kind: "sse",
            // Count the last chunk, too, because the server holds it until the socket accepts it.
            waiting: () => (isIdle ? 0 : lastBytes - (controller.desiredSize ?? 0)),
            send(chunk) {
              const bytes = chunk.bytes();
              isIdle = false;
              controller.enqueue(bytes);
              lastBytes = bytes.byteLength;
              return lastBytes;
            },
            close(reason) {
              if (reason === "shutdown" || reason === "key") {
                controller.enqueue(ownChunk(comment(ENDINGS[reason])).bytes());
                controller.close();
              } else {
                // Drop waiting bytes, because a client that never reads would keep them in memory.
                controller.error(new Error("The stream was ended"));
              }
              onEnd();
            },
          },
          wanted,
        );
      },
      pull() {
        isIdle = true;
        client?.drained();
      },
      cancel: () => client?.leave(),
    },
    new ByteLengthQueuingStrategy({ highWaterMark: 0 }),
  );
}
