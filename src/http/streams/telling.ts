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
 * `warning_log`. A metrics sample has two: `system` and `licenses`. An event that names people has its own form and
 * the one under pseudonyms, of which a client gets one. Any other event has one.
 */
export type Parts = number;
export const NONE: Parts = 0;
export const FIRST: Parts = 1;
export const SECOND: Parts = 2;
export const BOTH: Parts = 3;

/** An event on its way to clients of any kind: each form of it is encoded once, when the first client wants it. */
export interface Telling {
  readonly id: number;
  readonly type: EventType;
  readonly level: LogLevel | null;
  readonly source: LogSource | null;
  /** Whom and what it is about, in the form of a part. */
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

const encoder = new TextEncoder();

/** A frame: `event`, `id`, `data`, each on its line. The JSON has no raw line ends. */
export function frame(name: string, id: number, json: string): string {
  return `event: ${name}\nid: ${id}\ndata: ${json}\n\n`;
}

export interface Told {
  readonly id: number;
  readonly type: EventType;
  readonly level: string | null;
  readonly source: string | null;
  readonly json: string;
}

/** Makes tellings; the pseudonyms are for clients with anonymized keys. */
export interface Teller {
  /** An event as the store gives it back: already encoded. */
  stored(event: Told): Telling;
  /** An event as the bus tells it. */
  published(event: { readonly id: number; readonly event: AnyEvent; readonly json: string }): Telling;
}

export function createTeller(pseudonyms: Pseudonyms): Teller {
  const plain = ({ id, type, level, source, json }: Told, event: AnyEvent | string): Telling => {
    let anonymous: string | null = null;
    const anonymousJson = (): string => {
      anonymous ??= anonymousEvent(event, pseudonyms);
      return anonymous;
    };
    const jsonOf =
      ANONYMOUS_FORM[type] === "pseudonyms"
        ? (parts: Parts) => (parts === SECOND ? anonymousJson() : json)
        : () => json;
    return telling(id, type, level as LogLevel | null, source as LogSource | null, jsonOf);
  };
  return {
    stored: (told) => plain(told, told.json),
    published({ id, event, json }) {
      if (event.type === "metrics") {
        const jsonOf = (parts: Parts) => (parts === BOTH ? json : metricsJson(event, parts));
        return telling(id, "metrics", null, null, jsonOf);
      }
      const about = event.type === "log" ? logFields(event) : { level: null, source: null };
      return plain({ id, type: event.type, ...about, json }, event);
    },
  };
}

function telling(
  id: number,
  type: EventType,
  level: LogLevel | null,
  source: LogSource | null,
  jsonOf: (parts: Parts) => string,
): Telling {
  const frames: (Uint8Array | undefined)[] = [];
  const subjects: (Subject | undefined)[] = [];
  const twin = twinOf(type, level);
  const makeFrames = (parts: Parts): Uint8Array => {
    const json = jsonOf(parts);
    if (type !== "log") return encoder.encode(frame(type, id, json));
    const own = parts & FIRST ? frame("log", id, json) : "";
    return encoder.encode(own + (parts & SECOND && twin !== null ? frame(twin, id, json) : ""));
  };
  return {
    id,
    type,
    level,
    source,
    about: (part) => {
      subjects[part] ??= JSON.parse(jsonOf(part)) as Subject;
      return subjects[part];
    },
    frames: (parts) => {
      frames[parts] ??= makeFrames(parts);
      return frames[parts];
    },
    text: jsonOf,
  };
}

/** Name of the second frame of a log event of this level; null when it has none. */
export function twinOf(type: EventType, level: LogLevel | null) {
  if (type !== "log" || (level !== "error" && level !== "warn")) return null;
  return LOG_TWINS[level];
}

function logFields({ level, source }: LogEvent) {
  return { level, source };
}

/** `include=licenses` leaves out `system`, `cpu` and `memory`; `include=system` leaves out `licenses`. */
function metricsJson(event: MetricsEvent, parts: Parts): string {
  const { type, id, timestamp, cpu, memory, system, licenses } = event;
  return JSON.stringify(
    parts === FIRST ? { type, id, timestamp, cpu, memory, system } : { type, id, timestamp, licenses },
  );
}
