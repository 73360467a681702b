import {
  type AnyEvent,
  type EventType,
  LOG_TWINS,
  type LogEvent,
  type MetricsEvent,
} from "../../domain/events.ts";
import type { LogLevel, LogSource } from "../../domain/words.ts";
import { ANONYMOUS_FORM, anonymousEvent } from "../anonymous/picture.ts";
import type { Pseudonyms } from "../anonymous/pseudonyms.ts";

/**
 * Which parts of an event a client wants, as bits. A log event has two: its frame `log`, and its twin `error_log` or
 * `warning_log`. A metrics sample has two: `system` and `licenses`. An event that names people has two forms, its own
 * and the one under pseudonyms, and a client gets one of them. Any other event has one part.
 */
export type Parts = number;
export const NONE: Parts = 0;
export const FIRST: Parts = 1;
export const SECOND: Parts = 2;
export const BOTH: Parts = 3;

/** An event as it stands in the store. */
export interface EventRow {
  readonly id: number;
  readonly type: EventType;
  readonly level: string | null;
  readonly source: string | null;
  readonly json: string;
}

/** An event on its way to clients of any kind: each form of it is encoded once, when the first client wants it. */
export interface EncodedEvent {
  readonly id: number;
  readonly type: EventType;
  readonly level: LogLevel | null;
  readonly source: LogSource | null;
  /** The people and things that a part names. */
  about(part: Parts): Subject;
  /** Frames of server-sent events. */
  frames(parts: Parts): Uint8Array;
  /** JSON text for WebSockets; log events have one form whatever the parts. */
  text(parts: Parts): string;
}

/** The fields by which clients choose domain events; an event has some of them. */
export interface Subject {
  readonly server?: string | null;
  readonly daemon?: string | null;
  readonly feature?: string | null;
  readonly user?: string | null;
}

/** Encodes events; the pseudonyms are for clients with anonymized keys. */
export interface EventEncoder {
  /** An event of the store. */
  stored(row: EventRow): EncodedEvent;
  /** An event of the bus. */
  published(event: { readonly id: number; readonly event: AnyEvent; readonly json: string }): EncodedEvent;
}

export function createEncoder(pseudonyms: Pseudonyms): EventEncoder {
  /** `event` is the parsed event where it is at hand, else its text. */
  const plain = ({ id, type, level, source, json }: EventRow, event: AnyEvent | string): EncodedEvent => {
    let anonymous: string | null = null;
    const jsonOf = (parts: Parts): string => {
      if (parts !== SECOND || ANONYMOUS_FORM[type] !== "pseudonyms") return json;
      anonymous ??= anonymousEvent(event, pseudonyms);
      return anonymous;
    };
    return encodedEvent(id, type, level as LogLevel | null, source as LogSource | null, jsonOf);
  };
  return {
    stored: (row) => plain(row, row.json),
    published({ id, event, json }) {
      if (event.type === "metrics") {
        const jsonOf = (parts: Parts) => (parts === BOTH ? json : metricsJson(event, parts));
        return encodedEvent(id, "metrics", null, null, jsonOf);
      }
      const { level, source }: Pick<LogEvent, "level" | "source"> | { level: null; source: null } =
        event.type === "log" ? event : { level: null, source: null };
      return plain({ id, type: event.type, level, source, json }, event);
    },
  };
}

const utf8 = new TextEncoder();

function encodedEvent(
  id: number,
  type: EventType,
  level: LogLevel | null,
  source: LogSource | null,
  jsonOf: (parts: Parts) => string,
): EncodedEvent {
  const frames: (Uint8Array | undefined)[] = [];
  const subjects: (Subject | undefined)[] = [];
  const twin = twinOf(type, level);
  const makeFrames = (parts: Parts): Uint8Array => {
    const json = jsonOf(parts);
    if (type !== "log") return utf8.encode(frame(type, id, json));
    const own = parts & FIRST ? frame("log", id, json) : "";
    return utf8.encode(own + (parts & SECOND && twin !== null ? frame(twin, id, json) : ""));
  };
  return {
    id,
    type,
    level,
    source,
    about: (part) => (subjects[part] ??= JSON.parse(jsonOf(part)) as Subject),
    frames: (parts) => (frames[parts] ??= makeFrames(parts)),
    text: jsonOf,
  };
}

/** A frame: `event`, `id`, `data`, each on its line. The JSON has no raw line ends. */
function frame(name: string, id: number, json: string): string {
  return `event: ${name}\nid: ${id}\ndata: ${json}\n\n`;
}

/** Name of the second frame of a log event of this level; null when it has none. */
export function twinOf(type: EventType, level: LogLevel | null) {
  return type === "log" && (level === "error" || level === "warn") ? LOG_TWINS[level] : null;
}

/** `include=licenses` leaves out `system`, `cpu` and `memory`; `include=system` leaves out `licenses`. */
function metricsJson(event: MetricsEvent, parts: Parts): string {
  const { type, id, timestamp, cpu, memory, system, licenses } = event;
  return JSON.stringify(
    parts === FIRST ? { type, id, timestamp, cpu, memory, system } : { type, id, timestamp, licenses },
  );
}

/** Events for one group of clients, put together at most once for each kind of client. */
export interface Chunk {
  /** All frames in one piece. */
  bytes(): Uint8Array;
  /** The events' JSON texts. */
  texts(): readonly string[];
}

/** The parts of events that a filter wants; null when it wants nothing of them. */
export function chunkOf(
  events: readonly EncodedEvent[],
  filter: { partsOf(event: EncodedEvent): Parts },
): Chunk | null {
  const wanted: { readonly event: EncodedEvent; readonly parts: Parts }[] = [];
  for (const event of events) {
    const parts = filter.partsOf(event);
    if (parts !== NONE) wanted.push({ event, parts });
  }
  const [only] = wanted;
  if (only === undefined) return null;
  const join = () =>
    wanted.length === 1
      ? only.event.frames(only.parts)
      : Buffer.concat(wanted.map(({ event, parts }) => event.frames(parts)));
  let bytes: Uint8Array | null = null;
  let texts: string[] | null = null;
  return {
    bytes: () => (bytes ??= join()),
    texts: () => (texts ??= wanted.map(({ event, parts }) => event.text(parts))),
  };
}
