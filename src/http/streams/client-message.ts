import { ApiError } from "../../domain/errors.ts";
import { STREAM_QUERIES, type StreamName } from "./stream-filter.ts";

/** What a WebSocket client may say. */
export type ClientMessage =
  | { readonly type: "ping" }
  | { readonly type: "subscribe"; readonly changes: ReadonlyMap<string, readonly string[]> };

/** These belong to the opening of a connection and cannot be changed on it. */
const FIXED = ["api_key", "last_event_id"];

/** Takes a message apart. Throws ApiError: INVALID_JSON, MISSING_FIELD or INVALID_FIELD. */
export function readClientMessage(text: string | Buffer, stream: StreamName): ClientMessage {
  const message = asObject(text);
  const { type, ...rest } = message;
  if (type === undefined) throw new ApiError("MISSING_FIELD", 'A message needs a "type": ping or subscribe.');
  if (type === "ping") return { type };
  if (type !== "subscribe") {
    throw new ApiError("INVALID_FIELD", 'The "type" of a message is ping or subscribe.');
  }
  const changes = new Map<string, readonly string[]>();
  for (const [name, value] of Object.entries(rest)) {
    if (FIXED.includes(name)) {
      throw new ApiError("INVALID_FIELD", `"${name}" is given when the connection is opened, not on it.`);
    }
    if (!Object.hasOwn(STREAM_QUERIES[stream].parameters, name)) {
      const known = Object.keys(STREAM_QUERIES[stream].parameters).filter((each) => !FIXED.includes(each));
      throw new ApiError("INVALID_FIELD", `subscribe takes ${known.join(", ")} on this stream.`);
    }
    changes.set(name, asTexts(name, value));
  }
  return { type, changes };
}

/** Parameters that go by two names. */
const OTHER_NAME: Readonly<Record<string, string>> = {
  level: "levels",
  levels: "level",
  source: "sources",
  sources: "source",
};

/** The query after a change: what is named is replaced (null and [] take it out), what is not named stays. */
export function changedQuery(query: string, changes: ReadonlyMap<string, readonly string[]>): string {
  const changed = new URLSearchParams(query);
  for (const name of changes.keys()) {
    changed.delete(name);
    changed.delete(OTHER_NAME[name] ?? name);
  }
  for (const [name, values] of changes) for (const value of values) changed.append(name, value);
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
