import type { TSchema } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { ApiError, type ErrorCode } from "../../domain/errors.ts";
import { EVENT_SCHEMAS } from "../../domain/events.ts";
import type { Permission } from "../../domain/keys.ts";
import { namedServers } from "../answers/asked-servers.ts";
import type { HttpDeps } from "../deps.ts";
import { documented } from "../documented.ts";
import { type Exchange, gated } from "../exchange.ts";
import { openStream } from "../streams/open-stream.ts";
import { createSseStream, SSE_HEADERS } from "../streams/sse.ts";
import {
  createStreamFilter,
  STREAM_QUERIES,
  type StreamName,
  type Wanted,
} from "../streams/stream-filter.ts";
import { createSocketHandlers } from "../streams/websocket.ts";

type Deps = Pick<HttpDeps, "log" | "streams" | "live">;

/** What each stream is, for its documents. */
const STREAMS: Readonly<Record<StreamName, { access: Permission; summary: string; events: string[] }>> = {
  logs: { access: "logs", summary: "The service's own log", events: ["log"] },
  metrics: { access: "read", summary: "Load of the host, and seats", events: ["metrics"] },
  combined: { access: "read", summary: "All events", events: Object.keys(EVENT_SCHEMAS) },
};

/** A stream that has ended may keep its connection this long for what is on its way: who does not read would for ever. */
const LINGER_SECONDS = 10;

/** How long a request may be silent, in seconds; 0 = for ever. The server is Elysia's. */
interface IdleTimes {
  timeout(request: Request, seconds: number): void;
}

/** Server-sent events. `/api/logs/stream` is the older name of `/stream/logs`. */
export function sseRoutes({ log, streams, live }: Deps) {
  const http = log("http");

  const serve = (
    stream: StreamName,
    query: Wanted,
    request: Request,
    exchange: Exchange,
    server: IdleTimes | null,
  ) => {
    namedServers(live.snapshot(), query.server ?? null);
    const opening = openStream(streams, http, stream, request, exchange, query.last_event_id ?? null);
    const filter = createStreamFilter(stream, query, opening.sight);
    // A quiet stream is no dead one: Bun cuts silent connections.
    server?.timeout(request, 0);
    if (request.method === "HEAD") return new Response(null, { headers: SSE_HEADERS });
    const onEnd = () => server?.timeout(request, LINGER_SECONDS);
    const body = createSseStream({ ...opening, onEnd, filter });
    return new Response(body, { headers: SSE_HEADERS });
  };

  const route = <S extends StreamName>(stream: S) =>
    documented({ ...docOf(stream), answers: { 200: sseAnswer(stream) } });
  return new Elysia({ name: "routes/sse" })
    .use(gated)
    .get(
      "/stream/logs",
      ({ request, exchange, query, server }) => serve("logs", query, request, exchange, server),
      route("logs"),
    )
    .get(
      "/api/logs/stream",
      ({ request, exchange, query, server }) => serve("logs", query, request, exchange, server),
      route("logs"),
    )
    .get(
      "/stream/metrics",
      ({ request, exchange, query, server }) => serve("metrics", query, request, exchange, server),
      route("metrics"),
    )
    .get(
      "/stream/combined",
      ({ request, exchange, query, server }) => serve("combined", query, request, exchange, server),
      route("combined"),
    );
}

/** What a route gives to the upgrade; the server is Elysia's. */
interface Upgrader {
  upgrade(request: Request, options: { headers: Record<string, string>; data: unknown }): boolean;
}

/** WebSockets: the same parameters and the same objects, each log event once. */
export function socketRoutes({ log, streams, live }: Deps) {
  const http = log("http");

  const serve = (
    stream: StreamName,
    query: Wanted,
    request: Request,
    exchange: Exchange,
    upgrader: Upgrader | null,
  ) => {
    if (request.headers.get("upgrade")?.toLowerCase() !== "websocket") {
      throw new ApiError(
        "INVALID_FIELD",
        `${exchange.path} is a WebSocket: open it with ws:// and an Upgrade header, or use /stream/${stream}.`,
      );
    }
    namedServers(live.snapshot(), query.server ?? null);
    const opening = openStream(streams, http, stream, request, exchange, query.last_event_id ?? null);
    const data = createSocketHandlers({
      ...opening,
      stream,
      query: exchange.query,
      oldest: () => streams.history.oldestId(),
      now: () => performance.now(),
      checkServers: (ids) => void namedServers(live.snapshot(), ids),
    });
    if (
      upgrader?.upgrade(request, {
        headers: { ...exchange.headers },
        data,
      }) === true
    )
      return;
    throw new ApiError("INVALID_FIELD", "The WebSocket handshake is not complete (RFC 6455, section 4.2.1).");
  };

  const route = <S extends StreamName>(stream: S) =>
    documented({
      ...docOf(stream),
      description:
        'Sends one JSON object a message. Takes {"type":"ping"} and {"type":"subscribe", …parameters of the query…}; what it does not understand is answered with {"type":"error"} and the connection stays.',
      answers: { 101: socketAnswer(stream) },
      errors: ["INVALID_FIELD", ...docOf(stream).errors],
    });
  return new Elysia({ name: "routes/sockets" })
    .use(gated)
    .get(
      "/ws/logs",
      ({ request, exchange, query, server }) => serve("logs", query, request, exchange, server),
      route("logs"),
    )
    .get(
      "/ws/metrics",
      ({ request, exchange, query, server }) => serve("metrics", query, request, exchange, server),
      route("metrics"),
    )
    .get(
      "/ws/combined",
      ({ request, exchange, query, server }) => serve("combined", query, request, exchange, server),
      route("combined"),
    );
}

function docOf<S extends StreamName>(stream: S) {
  const { access, summary } = STREAMS[stream];
  return {
    access,
    tag: "Streams" as const,
    summary,
    keyInQuery: true,
    query: STREAM_QUERIES[stream],
    requestHeaders: {
      "Last-Event-ID": {
        description: "Resume behind this event: `<n>` or `log-<n>`; empty counts as absent",
        example: "1769847330123",
      },
    },
    errors: [
      "SERVICE_UNAVAILABLE",
      ...(stream === "combined" ? (["NOT_FOUND"] as const) : []),
    ] as ErrorCode[],
  };
}

/** Schema of what a stream tells, one object an event. */
function eventSchema(stream: StreamName): Readonly<Record<string, unknown>> {
  const schemas: readonly TSchema[] = STREAMS[stream].events.map(
    (name) => EVENT_SCHEMAS[name as keyof typeof EVENT_SCHEMAS],
  );
  return schemas.length === 1 ? { ...schemas[0] } : { oneOf: schemas };
}

/** OpenAPI has no place for messages: they stand as the body of the 101, which has none. */
function socketAnswer(stream: StreamName) {
  return {
    description: "Switching to WebSocket. Each message is one of these, as text.",
    content: { "application/json": { schema: eventSchema(stream) } },
  };
}

function sseAnswer(stream: StreamName) {
  return {
    description:
      "Frames of `event`, `id` and `data`, where data is one JSON object of these. With Last-Event-ID the first line is `:resume from <id>`.",
    content: { "text/event-stream": { schema: eventSchema(stream) } },
  };
}
