import { ApiError } from "../../domain/errors.ts";
import { audienceOf, permits } from "../../domain/keys.ts";
import type { Log } from "../../domain/log.ts";
import { HIDDEN_FROM_VIEWERS, LOG_SOURCES } from "../../domain/words.ts";
import type { Exchange } from "../exchange.ts";
import { shown } from "../query.ts";
import { kindOf } from "../without-key.ts";
import { type Carrier, createClient, type StreamClient, type StreamsPort } from "./broadcaster.ts";
import { chunkOf, comment, ownChunk } from "./encode.ts";
import { createStreamFilter, type StreamName, type Wanted } from "./stream-filter.ts";

/** Maximum number of events per read of a replay, a millisecond or two of work. */
const PAGE_EVENTS = 200;
/** Number of events in the first read. It is smaller, because the size of events is not known yet. */
const FIRST_PAGE_EVENTS = 20;
/** Maximum number of bytes that a replay sends at once, unless the first event is longer. */
const PAGE_BYTES = 16 * 1024;
/** Maximum number of streams per sign-in. All pages of a browser share one stream. */
const STREAMS_OF_SIGN_IN = 8;
/** Field that sets the reconnect delay of browsers, ms. */
const RETRY = "retry: 3000\n\n";
/** Value of `Retry-After` in seconds when all streams are in use. */
const FULL_RETRY_SECONDS = 5;

export type Opening = ReturnType<typeof openStream>;

/** Makes the checks that all streams share. Throws ApiError. */
export function openStream(
  port: StreamsPort,
  log: Log,
  stream: StreamName,
  exchange: Exchange,
  lastEventId: string | null,
) {
  // Keep only these values, not the whole exchange.
  const { caller, request, id: requestId, signIn } = exchange;
  if (caller === null) throw new Error("A stream needs a key");
  const from = resumeFrom(request, lastEventId);
  const { broadcaster } = port;
  const { streams, perKey } = port.limits();
  const { sse, websocket } = broadcaster.counts();
  if (sse + websocket >= streams) throw full(`${streams} streams are open, the maximum (limits.streams).`);
  // Callers without a key must not use up all streams.
  const isPublic = kindOf(caller.id) === "public";
  if (isPublic && 2 * broadcaster.heldBy((id) => kindOf(id) === "public") >= streams)
    throw full("Half of limits.streams are open without a key, which is the maximum.");
  // Browsers that share a key have separate limits, so count by sign-in.
  const holder = signIn?.id ?? caller.id;
  const most = signIn === null ? perKey : STREAMS_OF_SIGN_IN;
  if (broadcaster.heldBy((id) => id === holder) >= most) {
    const whose = isPublic ? "address" : signIn === null ? "key" : "sign-in";
    const setting = signIn === null ? " (limits.streams_per_key)" : "";
    throw full(`This ${whose} has ${most} streams open, the maximum${setting}.`);
  }
  const hidden = permits(caller, "protected_logs") ? [] : HIDDEN_FROM_VIEWERS;
  const sight = { hidden: permits(caller, "logs") ? hidden : LOG_SOURCES, audience: audienceOf(caller) };
  const about = { keyId: caller.id, stream };
  const filterOf = (wanted: Wanted) => createStreamFilter(stream, wanted, sight);

  return {
    stream,
    /** Replays missed events, then sends live ones. */
    start(carrier: Carrier, wanted: Wanted): StreamClient {
      const client: StreamClient = createClient(holder, filterOf(wanted), carrier, {
        gone: () => broadcaster.leave(client),
        slow: () => log.warn("A stream client reads too slowly and was cut off", about),
        sent: broadcaster.sent,
      });
      broadcaster.enter(client);
      (from === null ? begin(port, client) : resume(port, stream, client, from)).catch((error: unknown) => {
        client.end("failed");
        log.error("A stream failed", { ...about, error: String(error), requestId });
      });
      return client;
    },
    refilter: (client: StreamClient, wanted: Wanted) => broadcaster.refilter(client, filterOf(wanted)),
  };
}

async function begin({ broadcaster, samples }: StreamsPort, client: StreamClient): Promise<void> {
  client.send(ownChunk(RETRY));
  broadcaster.goLive(client);
  const fresh = samples.fresh();
  const chunk = fresh === null ? null : chunkOf([broadcaster.encoder.published(fresh)], client.filter);
  if (chunk === null) broadcaster.wantSample(client);
  else client.send(chunk);
}

/**
 * Sends all stored events after `after` at the reader's pace, then makes the client live. The check for newer events
 * and going live happen in one turn of the event loop, so no event is lost or repeated. A current sample comes last.
 */
async function resume(
  { broadcaster, history, samples }: StreamsPort,
  stream: StreamName,
  client: StreamClient,
  after: number,
): Promise<void> {
  if (history.catchUp !== undefined) await history.catchUp();
  const notice = (...notes: string[]) => {
    const resumed = { type: "resume", from: after, oldest: history.oldestId() };
    return notes.length === 0 ? resumed : { ...resumed, notes };
  };
  const only = stream === "logs" ? "log" : undefined;
  // Samples are kept for an hour; older ones are not reported as missing.
  const gaps = () => (stream === "metrics" ? [] : gapsBehind(history, after, only));
  const newest = broadcaster.lastPublished();
  // Report an id newer than any event, which a client may send.
  const ahead = after > newest ? [`${after} is ahead of the newest event ${newest}: live events follow`] : [];
  const notes = [...ahead, ...gaps()];
  const tell = (note: string) => client.send(ownChunk(comment(note), notice(note)));
  client.send(ownChunk(`:resume from ${after}\n\n${RETRY}${notes.map(comment).join("")}`, notice(...notes)));

  if (stream === "metrics") {
    const chunk = chunkOf(
      samples.since(after).map((sample) => broadcaster.encoder.published(sample)),
      client.filter,
    );
    if (chunk !== null) client.send(chunk);
  } else
    for (let cursor = after, limit = FIRST_PAGE_EVENTS; ; ) {
      await client.ready();
      await broadcaster.replayTurn();
      if (client.gone) return;
      const sent = await sendPage({ broadcaster, history }, client, cursor, limit, only, tell);
      cursor = sent.cursor;
      limit = Math.min(PAGE_EVENTS, Math.max(1, 2 * sent.events));
      if (cursor >= broadcaster.lastPublished()) break;
    }
  // Check again: during the replay, events may have been deleted, or published without being stored.
  for (const note of gaps()) if (!notes.includes(note)) tell(note);
  if (client.gone) return;
  broadcaster.goLive(client);
  broadcaster.wantSample(client);
}

/** Sends the next events; returns their number and the id of the last one. */
async function sendPage(
  { broadcaster, history }: Pick<StreamsPort, "broadcaster" | "history">,
  client: StreamClient,
  after: number,
  limit: number,
  only: "log" | undefined,
  tell: (note: string) => void,
): Promise<{ readonly cursor: number; readonly events: number }> {
  const last = broadcaster.lastPublished();
  const rows = await history.page(after, limit, only);
  let bytes = 0;
  const end = rows.findIndex(({ json }) => {
    bytes += json.length;
    return bytes > PAGE_BYTES;
  });
  const page = end === -1 ? rows : rows.slice(0, Math.max(1, end));
  const whole = page.filter(({ json }) => json !== "");
  const chunk = chunkOf(whole.map(broadcaster.encoder.stored), client.filter);
  if (chunk !== null) client.send(chunk);
  for (const { id, json } of page)
    if (json === "") tell(`event ${id} is damaged in the database and missing`);
  const newest = page.at(-1)?.id ?? after;
  const isLast = rows.length < limit && page.length === rows.length;
  return { cursor: isLast ? Math.max(newest, last) : newest, events: page.length };
}

function gapsBehind(history: StreamsPort["history"], after: number, only: "log" | undefined): string[] {
  const deleted = history.deletedThrough(only);
  const holes = history
    .holesAbove(after)
    .map(({ from, to }) => `events ${from} to ${to} could not be stored and are missing`);
  return after < deleted ? [`events up to ${deleted} were deleted, some may be missing`, ...holes] : holes;
}

/**
 * Returns the id to resume after, from the header `Last-Event-ID` or else `last_event_id`: `<n>` or `<type>-<n>`.
 * Null means from now on.
 */
function resumeFrom(request: Request, inQuery: string | null): number | null {
  const header = request.headers.get("last-event-id")?.trim();
  const text = header || inQuery?.trim();
  if (!text) return null;
  const digits = /^(?:[a-z_]{1,20}-)?(\d{1,15})$/.exec(text)?.[1];
  if (digits !== undefined) return Number(digits);
  const where = header ? "Header Last-Event-ID" : 'Query parameter "last_event_id"';
  throw new ApiError(
    "INVALID_QUERY",
    `${where} got ${shown(text)}; it must be the id of an event, such as 1769847330123.`,
  );
}

function full(message: string): ApiError {
  return new ApiError("SERVICE_UNAVAILABLE", message, { retryAfterSeconds: FULL_RETRY_SECONDS });
}
