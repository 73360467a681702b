import { ApiError } from "../../domain/errors.ts";
import { permits } from "../../domain/keys.ts";
import type { Log } from "../../domain/log.ts";
import { LOG_SOURCES } from "../../domain/words.ts";
import type { Exchange } from "../exchange.ts";
import { shown } from "../shown.ts";
import { chunkOf, type EncodedEvent } from "./encode.ts";
import type { EventHistory, Hub, StreamClient, StreamsPort } from "./hub.ts";
import { HIDDEN_FROM_VIEWERS, type Sight, type StreamName } from "./stream-filter.ts";

/**
 * The id to resume behind: the header `Last-Event-ID`, else the query's `last_event_id`. Takes `<n>` or `log-<n>`
 * (any `<type>-<n>` is a payload's id); empty counts as absent. Null = from now on.
 */
function resumeFrom(request: Request, inQuery: string | null): number | null {
  const header = request.headers.get("last-event-id")?.trim();
  if (header) return parseEventId(header, "Header Last-Event-ID");
  const own = inQuery?.trim();
  return own ? parseEventId(own, 'Query parameter "last_event_id"') : null;
}

function parseEventId(text: string, where: string): number {
  const digits = /^(?:[a-z_]{1,20}-)?(\d{1,15})$/.exec(text)?.[1];
  if (digits !== undefined) return Number(digits);
  throw new ApiError(
    "INVALID_QUERY",
    `${where} got ${shown(text)}; it takes the id of an event, such as 1769847330123.`,
  );
}

/** Events read from the store at a time: a millisecond or two of work. */
export const PAGE_EVENTS = 200;

/** What is missing behind `from`, as far as is known now: sentences for comments. */
function gapNotes(history: EventHistory, from: number, only?: "log"): string[] {
  const notes: string[] = [];
  const deleted = history.deletedThrough(only);
  if (from < deleted) notes.push(`events up to ${deleted} were deleted, some may be missing`);
  for (const hole of history.holesAbove(from)) {
    notes.push(`events ${hole.from} to ${hole.to} could not be stored and are missing`);
  }
  return notes;
}

interface CatchUpDeps {
  readonly hub: Pick<Hub, "goLive" | "lastPublished" | "wantSample" | "encoder">;
  readonly history: Pick<EventHistory, "page">;
  /** Metrics samples in memory above an id. */
  readonly samplesSince: (id: number) => readonly EncodedEvent[];
  /** Sentences on what is missing that were not known when the client was opened. */
  readonly lateNotes: () => readonly string[];
  /** Gives the event loop back between two pages. */
  readonly breathe: () => Promise<void>;
}

/** A client that catches up: it says when it can take more and when it is gone. */
export interface CatchingUp extends StreamClient {
  /** Resolves once little waits for the client; at once in the usual case. */
  ready(): Promise<void>;
  /** Says what is missing in what was sent. */
  note(text: string): void;
  readonly gone: boolean;
}

/**
 * Sends every stored event behind `from`, in order, at the reader's pace, then lets the client go live without a gap
 * or a double: the page that reaches the newest event and the step to live happen in one turn of the event loop, and
 * events are published in the turn of their commit.
 */
export async function catchUp(client: CatchingUp, from: number, deps: CatchUpDeps): Promise<void> {
  const { hub, history, samplesSince, lateNotes, breathe } = deps;
  const { stream } = client.filter;
  let cursor = from;
  if (stream === "metrics") {
    const chunk = chunkOf(samplesSince(from), client.filter);
    if (chunk !== null) client.send(chunk);
  } else {
    const only = stream === "logs" ? "log" : undefined;
    for (;;) {
      await client.ready();
      if (client.gone) return;
      const newest = hub.lastPublished();
      const page = history.page(cursor, PAGE_EVENTS, only);
      const chunk = chunkOf(page.map(hub.encoder.stored), client.filter);
      if (chunk !== null) client.send(chunk);
      cursor = page.at(-1)?.id ?? newest;
      if (page.length < PAGE_EVENTS || cursor >= newest) break;
      await breathe();
    }
    // A replay takes its time: events may have been deleted, or published without being stored, meanwhile.
    for (const note of lateNotes()) client.note(note);
  }
  if (client.gone) return;
  hub.goLive(client);
  // A replay ends with a current sample.
  hub.wantSample(client);
}

/** A stream that may be opened: everything but how it is carried. */
export interface Opening {
  readonly hub: Hub;
  readonly keyId: string;
  readonly sight: Sight;
  /** Id to resume behind; null = from now on. */
  readonly from: number | null;
  /** Sentences on what is missing behind it. */
  readonly notes: readonly string[];
  /** Called once the stream is open: catches up and goes live. */
  begin(client: CatchingUp): Promise<void>;
  /** Called when the client was cut off because it reads too slowly. */
  onSlow(): void;
  /** Called when `begin` failed; the stream has ended. */
  onError(error: unknown): void;
}

/** The checks that all streams share. Throws ApiError. */
export function openStream(
  { hub, history, samples, limits }: StreamsPort,
  log: Log,
  stream: StreamName,
  request: Request,
  exchange: Exchange,
  lastEventId: string | null,
): Opening {
  const { caller } = exchange;
  if (caller === null) throw new Error("A stream needs a key");
  const from = resumeFrom(request, lastEventId);
  const { streams, perKey } = limits();
  const { sse, websocket } = hub.counts();
  if (sse + websocket >= streams)
    throw full(`${streams} streams are open, which is the most (limits.streams).`);
  if (hub.ofKey(caller.id) >= perKey) {
    throw full(`This key has ${perKey} streams open, which is the most (limits.streams_per_key).`);
  }
  const noLogs = !permits(caller, "logs");
  const hidden = permits(caller, "protected_logs") ? [] : HIDDEN_FROM_VIEWERS;
  const only = stream === "logs" ? "log" : undefined;
  const tell = hub.encoder.published;
  // Samples are kept for an hour and no longer: that older ones are gone is no news.
  const notes = from === null || stream === "metrics" ? [] : gapNotes(history, from, only);
  const newest = hub.lastPublished();
  // A client may resume from an id newer than any published event; tell it so.
  if (from !== null && from > newest)
    notes.unshift(`${from} is ahead of the newest event ${newest}: live events follow`);

  const about = { keyId: caller.id, stream };
  return {
    hub,
    keyId: caller.id,
    sight: { hidden: noLogs ? LOG_SOURCES : hidden, anonymous: caller.anonymize },
    from,
    notes,
    async begin(client) {
      if (from !== null) {
        const samplesSince = (id: number) => samples.since(id).map(tell);
        const lateNotes = () => gapNotes(history, from, only).filter((note) => !notes.includes(note));
        return catchUp(client, from, { hub, history, samplesSince, lateNotes, breathe });
      }
      hub.goLive(client);
      const fresh = samples.fresh();
      const chunk = fresh === null ? null : chunkOf([tell(fresh)], client.filter);
      if (chunk !== null) client.send(chunk);
      else hub.wantSample(client);
    },
    onSlow: () => log.warn("A stream client reads too slowly and was cut off", about),
    onError: (error) =>
      log.error("A stream failed", { ...about, error: String(error), requestId: exchange.id }),
  };
}

function full(message: string): ApiError {
  return new ApiError("SERVICE_UNAVAILABLE", message, { retryAfterSeconds: RETRY_SECONDS });
}

/** Seconds after which a place may be free. */
const RETRY_SECONDS = 5;

const breathe = () => new Promise<void>((resume) => setImmediate(resume));
