import { LOG_TWINS, type MetricsEvent, type StoredEvent } from "../../domain/events.ts";
import type { Audience } from "../../domain/words.ts";
import type { Published } from "../../live/bus.ts";
import type { EventRow } from "../../store/events.ts";
import { ANONYMOUS_FORM, anonymousEvent, type Pseudonyms } from "../anonymous/anonymous.ts";

/**
 * Parts of an event that a client wants, as bits. A log event has the frame `log` and its twin `error_log`
 * or `warning_log`. Metrics have `system` and `licenses`. An event about people has one part with names and
 * one with pseudonyms; a client gets only one of them. A picture also has a part without people. Other
 * events have one part.
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

/** `text` returns the JSON of parts, as WebSockets get it. All parts of a log event have the same JSON. */
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
    /** Returns the fields of a part that filters compare. */
    about: (part: Parts) =>
      subjects.getOrInsertComputed(part, () => {
        // Use a picture's row, which has the server, so that its text need not be made.
        return JSON.parse(row.type === "picture" ? row.json : text(part)) as Subject;
      }),
    /** If `asMessage`, returns one frame named `message`. */
    frames: (parts: Parts, asMessage: boolean): string =>
      (asMessage ? ["message"] : namesOf(parts)).map((name) => frame(name, parts)).join(""),
  };
}

/** Returns the name of a log event's second frame; null without one. */
export function twinOf(level: string | null) {
  return level === "error" || level === "warn" ? LOG_TWINS[level] : null;
}

export type EventEncoder = ReturnType<typeof createEncoder>;

/** Encodes events. `pseudonyms` is for anonymized keys; `siteOf` returns this licmond's site in a fleet. */
export function createEncoder(pseudonyms: Pseudonyms, siteOf: () => string | null = () => null) {
  /** Adds the site, which stored events do not have. */
  const sited: typeof encodedEvent = (row, text) => {
    const site = siteOf();
    if (site === null) return encodedEvent(row, text);
    return encodedEvent(row, (parts) => `{"site":${JSON.stringify(site)},${text(parts).slice(1)}`);
  };
  /** `event` is the parsed event, or else its text. */
  const encoded = (row: EventRow, event: StoredEvent | string) => {
    let anonymous: string | null = null;
    return sited(row, (parts) => {
      if (parts !== SECOND || ANONYMOUS_FORM[row.type] !== "pseudonyms") return row.json;
      anonymous ??= anonymousEvent(event, pseudonyms);
      return anonymous;
    });
  };
  return {
    stored: (row: EventRow) => encoded(row, row.json),
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

function metricsJson(event: MetricsEvent, parts: Parts): string {
  const { type, id, timestamp, cpu, memory, system, licenses } = event;
  return JSON.stringify(
    parts === FIRST ? { type, id, timestamp, cpu, memory, system } : { type, id, timestamp, licenses },
  );
}

/** Bytes of an event stream, or messages of a WebSocket. */
export interface Chunk {
  bytes(): Uint8Array;
  texts(): readonly string[];
}

export function ownChunk(text: string, ...messages: readonly object[]): Chunk {
  return { bytes: () => utf8.encode(text), texts: () => messages.map((one) => JSON.stringify(one)) };
}

export const comment = (text: string) => `:${text}\n\n`;

/** Joins the parts that a filter wants, once for all its clients; null for nothing. */
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
