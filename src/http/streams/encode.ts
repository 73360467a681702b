import { LOG_TWINS, type MetricsEvent, type StoredEvent } from "../../domain/events.ts";
import type { Audience } from "../../domain/words.ts";
import type { Published } from "../../live/bus.ts";
import type { EventRow } from "../../store/events.ts";
import { ANONYMOUS_FORM, anonymousEvent, type Pseudonyms } from "../anonymous/anonymous.ts";

/**
 * Which parts of an event a client wants, as bits. A log event has two: its frame `log`, and its twin `error_log` or
 * `warning_log`. A metrics sample has two: `system` and `licenses`. An event that names people has two forms, its own
 * and the one under pseudonyms, and a client gets one of them; a picture has a third, without people. Any other event has
 * one part.
 */
export type Parts = number;
export const NONE: Parts = 0;
export const FIRST: Parts = 1;
export const SECOND: Parts = 2;
export const BOTH: Parts = 3;
export const THIRD: Parts = 4;

/** Filter fields of events; an event has some of them. */
export type Subject = Readonly<
  Partial<Record<"site" | "server" | "daemon" | "feature" | "user" | "message", string | null>>
> & { readonly metadata?: { readonly server?: string } };

const utf8 = new TextEncoder();

export type EncodedEvent = ReturnType<typeof encodedEvent>;

/** An event for clients of any kind. `text` is for WebSockets; log events have one form for all parts. */
function encodedEvent(row: EventRow, text: (parts: Parts) => string) {
  const subjects = new Map<Parts, Subject>();
  const namesOf = (parts: Parts): readonly string[] => {
    if (row.type !== "log") return [row.type];
    const twin = twinOf(row.level);
    return [...(parts & FIRST ? ["log"] : []), ...(parts & SECOND && twin !== null ? [twin] : [])];
  };
  const frame = (name: string, parts: Parts) => `event: ${name}\nid: ${row.id}\ndata: ${text(parts)}\n\n`;
  return {
    row,
    text,
    /** The people and things that a part names. */
    about: (part: Parts) =>
      subjects.getOrInsertComputed(part, () => {
        // A picture's row has the server; its text would not be used.
        return JSON.parse(row.type === "picture" ? row.json : text(part)) as Subject;
      }),
    /** Frames of server-sent events; with `asMessage` one frame named `message`. */
    frames: (parts: Parts, asMessage: boolean): string =>
      (asMessage ? ["message"] : namesOf(parts)).map((name) => frame(name, parts)).join(""),
  };
}

/** Name of the second frame of a log event of this level; null when it has none. */
export function twinOf(level: string | null) {
  return level === "error" || level === "warn" ? LOG_TWINS[level] : null;
}

export type EventEncoder = ReturnType<typeof createEncoder>;

/** Encodes events; the pseudonyms are for clients with anonymized keys, the site is that of this licmond in a fleet. */
export function createEncoder(pseudonyms: Pseudonyms, siteOf: () => string | null = () => null) {
  /** With the site in a fleet: the store has events without. */
  const sited: typeof encodedEvent = (row, text) => {
    const site = siteOf();
    if (site === null) return encodedEvent(row, text);
    return encodedEvent(row, (parts) => `{"site":${JSON.stringify(site)},${text(parts).slice(1)}`);
  };
  /** `event` is the parsed event where it is at hand, else its text. */
  const encoded = (row: EventRow, event: StoredEvent | string) => {
    let anonymous: string | null = null;
    return sited(row, (parts) => {
      if (parts !== SECOND || ANONYMOUS_FORM[row.type] !== "pseudonyms") return row.json;
      anonymous ??= anonymousEvent(event, pseudonyms);
      return anonymous;
    });
  };
  return {
    /** An event of the store. */
    stored: (row: EventRow) => encoded(row, row.json),
    /** An event of the bus. */
    published({ id, event, json, patch }: Pick<Published, "id" | "event" | "json" | "patch">) {
      const { type } = event;
      const { level, source } = type === "log" ? event : { level: null, source: null };
      const row = { id, type, level, source, json };
      if (type === "picture") {
        const audience = new Map<Parts, Audience>([
          [SECOND, "pseudonyms"],
          [THIRD, "counts"],
        ]);
        const whole = (part: Parts) => `${json.slice(0, -1)},${patch?.(audience.get(part) ?? "names")}}`;
        const texts = new Map<Parts, string>();
        return sited(row, (part) => texts.getOrInsertComputed(part, whole));
      }
      if (type !== "metrics") return encoded(row, event);
      return sited(row, (parts) => (parts === BOTH ? json : metricsJson(event, parts)));
    },
  };
}

/** `include=licenses` leaves out `system`, `cpu` and `memory`; `include=system` leaves out `licenses`. */
function metricsJson(event: MetricsEvent, parts: Parts): string {
  const { type, id, timestamp, cpu, memory, system, licenses } = event;
  return JSON.stringify(
    parts === FIRST ? { type, id, timestamp, cpu, memory, system } : { type, id, timestamp, licenses },
  );
}

/** A unit of sending: bytes of an event stream, or messages of a WebSocket. */
export interface Chunk {
  bytes(): Uint8Array;
  texts(): readonly string[];
}

/** A chunk of our own words: the text of an event stream, and the messages of a WebSocket. */
export function ownChunk(text: string, ...messages: readonly object[]): Chunk {
  return { bytes: () => utf8.encode(text), texts: () => messages.map((one) => JSON.stringify(one)) };
}

/** A comment of an event stream. */
export const comment = (text: string) => `:${text}\n\n`;

/** The parts of events that a filter wants, put together once for all of its clients; null when it wants nothing. */
export function chunkOf(
  events: readonly EncodedEvent[],
  filter: { readonly asMessage: boolean; partsOf(event: EncodedEvent): Parts },
): Chunk | null {
  const wanted = events
    .map((event) => ({ event, parts: filter.partsOf(event) }))
    .filter(({ parts }) => parts !== NONE);
  if (wanted.length === 0) return null;
  let bytes: Uint8Array | null = null;
  let texts: string[] | null = null;
  return {
    bytes: () =>
      (bytes ??= utf8.encode(
        wanted.map(({ event, parts }) => event.frames(parts, filter.asMessage)).join(""),
      )),
    texts: () => (texts ??= wanted.map(({ event, parts }) => event.text(parts))),
  };
}
