import type { ServerWebSocket } from "bun";
import { ApiError } from "../../domain/errors.ts";
import { ENDINGS, type Ending, type StreamClient } from "./broadcaster.ts";
import { ownChunk } from "./encode.ts";
import type { Opening } from "./open-stream.ts";
import { LOG_PARAMETERS, STREAM_QUERIES, type StreamQuery, type Wanted } from "./stream-filter.ts";

/** Limits of WebSockets. Clients may send little and must keep reading. */
export const SOCKETS = {
  idleTimeout: 60,
  sendPings: true,
  maxPayloadLength: 64 * 1024,
  backpressureLimit: 64 * 1024 * 1024,
  closeOnBackpressureLimit: false,
  perMessageDeflate: false,
};

const MAX_MESSAGES_PER_SECOND = 20;

/** Close codes (RFC 6455 7.4.1, and the IANA registry for 1013). */
const POLICY = 1008;
const CLOSE_CODES: Readonly<Record<Ending, number>> = {
  shutdown: 1001,
  key: POLICY,
  slow: 1013,
  failed: 1011,
};

/**
 * Handles one WebSocket client with the same events as JSON. `firstQuery`: query of the opening, without `?`. `now`:
 * monotonic ms. `byServers`: resolves labels to servers; throws NOT_FOUND.
 */
export function createSocketHandlers(
  opening: Opening,
  firstQuery: string,
  now: () => number,
  byServers: (wanted: Wanted) => Wanted,
  definition: StreamQuery = STREAM_QUERIES[opening.stream],
) {
  const { parse } = definition;
  let query = firstQuery;
  let client: StreamClient | null = null;
  let second = -1;
  let messages = 0;

  return {
    open(ws: ServerWebSocket<unknown>) {
      client = opening.start(
        {
          kind: "websocket",
          waiting: () => ws.getBufferedAmount(),
          // Cork the socket, so that a batch is a single write: writes are the most expensive part.
          send(chunk) {
            const texts = chunk.texts();
            ws.cork(() => {
              for (const text of texts) ws.sendText(text);
            });
            return texts.reduce((sum, { length }) => sum + length, 0);
          },
          close: (reason) => ws.close(CLOSE_CODES[reason], ENDINGS[reason]),
        },
        byServers(parse(query)),
      );
    },
    message(ws: ServerWebSocket<unknown>, message: string | Buffer) {
      if (client === null || client.gone) return;
      const current = Math.floor(now() / 1000);
      messages = current === second ? messages + 1 : 1;
      second = current;
      if (messages > MAX_MESSAGES_PER_SECOND) {
        client.leave();
        ws.close(POLICY, `more than ${MAX_MESSAGES_PER_SECOND} messages a second`);
        return;
      }
      const { reply, filter } = answer(message);
      client.send(ownChunk("", reply));
      // The reply precedes the sample that a new filter requests.
      if (filter !== null && !client.gone) opening.refilter(client, filter);
    },
    drain: () => client?.drained(),
    close: () => client?.leave(),
  };

  function answer(message: string | Buffer): { readonly reply: object; readonly filter: Wanted | null } {
    try {
      const { action, type = action, ...changes } = asObject(message);
      if (type === "ping") return { reply: { type: "pong" }, filter: null };
      if (type === "filter" && !("filter" in changes))
        throw new ApiError("MISSING_FIELD", 'Field "filter" is missing: it must be an object or null.');
      if (type === "subscribe" || type === "filter") return subscribe(withFilter(changes, definition));
      const right = 'a message has a "type" or "action": ping, subscribe or filter.';
      if (type === undefined) throw new ApiError("MISSING_FIELD", `The type is missing: ${right}`);
      throw new ApiError("INVALID_FIELD", `The type is unknown: ${right}`);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      return { reply: { type: "error", code: error.code, message: error.message }, filter: null };
    }
  }

  function subscribe(changes: Readonly<Record<string, unknown>>) {
    const changed = changedQuery(query, changes, definition);
    const { last_event_id: _, ...wanted }: Wanted = parse(changed);
    const filter = byServers(wanted);
    query = changed;
    return { reply: { type: "subscribed", ...wanted }, filter };
  }
}

/**
 * Expands a message's `filter` into parameters. Log parameters that the filter omits are cleared; `filter:
 * null` clears all.
 */
function withFilter(
  { filter, ...changes }: Readonly<Record<string, unknown>>,
  { parameters }: StreamQuery,
): Readonly<Record<string, unknown>> {
  if (filter === undefined) return changes;
  if (typeof filter !== "object" || Array.isArray(filter))
    throw new ApiError("INVALID_FIELD", '"filter" must be an object or null.');
  const names = Object.keys(LOG_PARAMETERS).filter((name) => Object.hasOwn(parameters, name));
  const unknown = Object.keys(filter ?? {}).find((name) => !names.includes(name));
  if (unknown !== undefined)
    throw new ApiError(
      "INVALID_FIELD",
      `"filter" accepts ${names.join(", ") || "no fields"} on this stream.`,
    );
  const cleared = Object.fromEntries(names.map((name) => [name, null]));
  return { ...changes, ...cleared, ...filter };
}

const otherName = (name: string) => (/^(level|source)$/.test(name) ? `${name}s` : name.replace(/s$/, ""));

/** Applies changes to a query; null and [] remove a parameter. */
function changedQuery(
  query: string,
  changes: Readonly<Record<string, unknown>>,
  { parameters }: StreamQuery,
): string {
  const known = Object.keys(parameters).filter((name) => name !== "last_event_id");
  const changed = new URLSearchParams(query);
  for (const name of Object.keys(changes)) {
    if (name === "api_key" || name === "last_event_id")
      throw new ApiError("INVALID_FIELD", `"${name}" can only be set when the connection is opened.`);
    if (!known.includes(name))
      throw new ApiError("INVALID_FIELD", `subscribe accepts ${known.join(", ")} on this stream.`);
    changed.delete(name);
    changed.delete(otherName(name));
  }
  for (const [name, value] of Object.entries(changes)) {
    for (const item of value === null ? [] : [value].flat()) {
      if (typeof item !== "string" && typeof item !== "number")
        throw new ApiError("INVALID_FIELD", `"${name}" must be a string, a number, or a list of these.`);
      changed.append(name, String(item));
    }
  }
  return changed.toString();
}

function asObject(text: string | Buffer): Record<string, unknown> {
  if (typeof text !== "string") throw new ApiError("INVALID_JSON", "A message must be JSON in a text frame.");
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return { ...value };
  } catch {
    throw new ApiError("INVALID_JSON", "The message is not JSON.");
  }
  throw new ApiError("INVALID_JSON", 'A message must be a JSON object, such as {"type":"ping"}.');
}
