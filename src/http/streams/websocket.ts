import type { ServerWebSocket } from "bun";
import { ApiError } from "../../domain/errors.ts";
import type { Chunk } from "./encode.ts";
import type { CatchingUp, Opening } from "./open-stream.ts";
import { MAX_WAITING_BYTES } from "./sse.ts";
import {
  createStreamFilter,
  STREAM_QUERIES,
  type StreamFilter,
  type StreamName,
  type Wanted,
} from "./stream-filter.ts";

/** More messages than this in one second end a connection. */
const MAX_MESSAGES_PER_SECOND = 20;
/** While this much waits, a replay holds its next page back. */
const REPLAY_WAITING_BYTES = 128 * 1024;

/** Codes of RFC 6455 7.4.1 and the IANA registry. */
const GOING_AWAY = 1001;
const POLICY = 1008;
const TRY_AGAIN_LATER = 1013;

/** Elysia hands the events of a native socket to the functions in its `data`. */
interface SocketHandlers {
  open(ws: ServerWebSocket<unknown>): void;
  message(ws: ServerWebSocket<unknown>, message: string | Buffer): void;
  drain(ws: ServerWebSocket<unknown>): void;
  close(ws: ServerWebSocket<unknown>, code: number, reason: string): void;
}

interface SocketOptions extends Opening {
  readonly stream: StreamName;
  /** The query of the opening, without `?`. */
  readonly query: string;
  /** Id of the oldest stored event, for clients that resume; null when there is none. */
  readonly oldest: () => number | null;
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number;
  /** Throws NOT_FOUND for an id that no server has. */
  readonly checkServers: (ids: readonly string[] | null) => void;
}

/** One WebSocket client: the same events as JSON texts, each log event once. */
export function createSocketHandlers(options: SocketOptions): SocketHandlers {
  const { stream, sight, keyId, hub, from, oldest, notes, begin, onSlow, onError, now } = options;
  let query = options.query;
  let client: SocketClient | null = null;
  let second = -1;
  let messages = 0;

  const filterOf = (text: string) => createStreamFilter(stream, STREAM_QUERIES[stream].parse(text), sight);

  const answer = (opened: SocketClient, message: string | Buffer) => {
    const { type, ...changes } = asObject(message);
    if (type === "ping") return opened.tell({ type: "pong" });
    if (type === undefined)
      throw new ApiError("MISSING_FIELD", 'A message needs a "type": ping or subscribe.');
    if (type !== "subscribe")
      throw new ApiError("INVALID_FIELD", 'The "type" of a message is ping or subscribe.');
    const changed = changedQuery(query, changes, stream);
    const wanted: Wanted = STREAM_QUERIES[stream].parse(changed);
    options.checkServers(wanted.server ?? null);
    const filter = filterOf(changed);
    query = changed;
    opened.refilter(filter);
    const { last_event_id: _, ...effective } = wanted;
    opened.tell({ type: "subscribed", ...effective });
  };

  return {
    open(ws) {
      const opened = createSocketClient(ws);
      client = opened;
      hub.enter(opened);
      if (from !== null)
        opened.tell({ type: "resume", from, oldest: oldest(), ...(notes.length > 0 && { notes }) });
      begin(opened).catch((error: unknown) => {
        opened.finish(1011, "internal error");
        onError(error);
      });
    },
    message(_, message) {
      if (client === null || client.gone) return;
      const current = Math.floor(now() / 1000);
      messages = current === second ? messages + 1 : 1;
      second = current;
      if (messages > MAX_MESSAGES_PER_SECOND) {
        client.finish(POLICY, `more than ${MAX_MESSAGES_PER_SECOND} messages a second`);
        return;
      }
      try {
        answer(client, message);
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        client.tell({ type: "error", code: error.code, message: error.message });
      }
    },
    drain: () => client?.drained(),
    close: () => client?.leave(),
  };

  function createSocketClient(ws: ServerWebSocket<unknown>) {
    let wake: (() => void) | null = null;
    const self: SocketClient = {
      kind: "websocket",
      filter: filterOf(query),
      keyId,
      gone: false,
      send(chunk: Chunk) {
        for (const text of chunk.texts()) self.put(text);
      },
      tell: (message: object) => self.put(JSON.stringify(message)),
      put(text: string) {
        if (self.gone) return;
        if (ws.getBufferedAmount() + text.length > MAX_WAITING_BYTES) {
          onSlow();
          self.finish(TRY_AGAIN_LATER, "reads too slowly");
          return;
        }
        ws.sendText(text);
      },
      note: (text: string) => self.tell({ type: "resume", from, oldest: oldest(), notes: [text] }),
      // Bun's own pings keep the connection.
      heartbeat() {},
      end: (reason: "shutdown" | "key") =>
        reason === "shutdown"
          ? self.finish(GOING_AWAY, "licmond is shutting down")
          : self.finish(POLICY, "the API key has ended"),
      finish(code: number, reason: string) {
        if (self.gone) return;
        self.leave();
        ws.close(code, reason);
      },
      leave() {
        if (self.gone) return;
        self.gone = true;
        hub.leave(self);
        self.drained();
      },
      drained() {
        wake?.();
        wake = null;
      },
      ready(): Promise<void> {
        if (self.gone || ws.getBufferedAmount() < REPLAY_WAITING_BYTES) return Promise.resolve();
        return new Promise((resolve) => {
          wake = resolve;
        });
      },
      refilter(filter) {
        hub.regroup(self, () => {
          self.filter = filter;
        });
        hub.wantSample(self);
      },
    };
    return self;
  }
}

interface SocketClient extends CatchingUp {
  filter: StreamFilter;
  gone: boolean;
  put(text: string): void;
  tell(message: object): void;
  finish(code: number, reason: string): void;
  leave(): void;
  /** More may be sent. */
  drained(): void;
  refilter(filter: StreamFilter): void;
}

/** These belong to the opening of a connection and cannot be changed on it. */
const FIXED = ["api_key", "last_event_id"];
/** Parameters that go by two names. */
const OTHER_NAME: Readonly<Record<string, string>> = {
  level: "levels",
  levels: "level",
  source: "sources",
  sources: "source",
};

/** The query after a change: what is named is replaced (null and [] take it out), what is not named stays. */
function changedQuery(query: string, changes: Readonly<Record<string, unknown>>, stream: StreamName): string {
  const known = Object.keys(STREAM_QUERIES[stream].parameters).filter((name) => !FIXED.includes(name));
  const changed = new URLSearchParams(query);
  for (const name of Object.keys(changes)) {
    if (FIXED.includes(name))
      throw new ApiError("INVALID_FIELD", `"${name}" is given when the connection is opened, not on it.`);
    if (!known.includes(name))
      throw new ApiError("INVALID_FIELD", `subscribe takes ${known.join(", ")} on this stream.`);
    changed.delete(name);
    changed.delete(OTHER_NAME[name] ?? name);
  }
  for (const [name, value] of Object.entries(changes))
    for (const text of asTexts(name, value)) changed.append(name, text);
  return changed.toString();
}

function asObject(text: string | Buffer): Record<string, unknown> {
  if (typeof text !== "string") throw new ApiError("INVALID_JSON", "A message is JSON in a text frame.");
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new ApiError("INVALID_JSON", "The message is not JSON.");
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    return value as Record<string, unknown>;
  }
  throw new ApiError("INVALID_JSON", 'A message is a JSON object, such as {"type":"ping"}.');
}

function asTexts(name: string, value: unknown): readonly string[] {
  const list = value === null ? [] : Array.isArray(value) ? value : [value];
  return list.map((item) => {
    if (typeof item === "string" || typeof item === "number") return String(item);
    throw new ApiError("INVALID_FIELD", `"${name}" takes a text, a number, or a list of them.`);
  });
}
