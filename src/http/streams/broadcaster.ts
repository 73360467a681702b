import { setImmediate as nextTurn } from "node:timers/promises";
import type { EventType } from "../../domain/events.ts";
import type { Log } from "../../domain/log.ts";
import { repeat } from "../../domain/time/clock.ts";
import type { Bus } from "../../live/bus.ts";
import type { Sampler } from "../../live/sampler.ts";
import type { EventRow, Events } from "../../store/events.ts";
import { type Chunk, chunkOf, type EncodedEvent, type EventEncoder, ownChunk } from "./encode.ts";
import { createSendBudget } from "./send-budget.ts";
import type { StreamFilter } from "./stream-filter.ts";

/** A client for which more than this waits in the daemon is cut off; it resumes when it can read again. */
const MAX_WAITING_BYTES = 1024 * 1024;
/** While this much waits, a replay holds its next page back. */
export const REPLAY_WAITING_BYTES = 32 * 1024;

/** Why the daemon ends a stream, with the words for its client. */
export const ENDINGS = {
  shutdown: "licmond is shutting down",
  key: "the API key or the sign-in has ended",
  slow: "reads too slowly",
  failed: "internal error",
} as const;
export type Ending = keyof typeof ENDINGS;

/** Transports chunks to a client: an event stream or a WebSocket. */
export interface Carrier {
  readonly kind: "sse" | "websocket";
  /** Bytes that wait in the daemon for the client to read them. */
  waiting(): number;
  /** Returns the number of bytes. */
  send(chunk: Chunk): number;
  close(reason: Ending): void;
}

export type StreamClient = ReturnType<typeof createClient>;

interface ClientEvents {
  /** The connection has ended, from either side. */
  gone(): void;
  /** The client was cut off because too much waits for it. */
  slow(): void;
  sent(bytes: number): void;
}

/** A client of a stream, over either transport. */
export function createClient(holder: string, filter: StreamFilter, carrier: Carrier, events: ClientEvents) {
  let wake = () => {};
  const client = {
    kind: carrier.kind,
    /** Id of the key or of the sign-in that opened it. */
    holder,
    filter,
    gone: false,
    waiting: carrier.waiting,
    tookAt: performance.now(),
    /** Does not block: a client for which too much waits is cut off. */
    send(chunk: Chunk): void {
      if (client.gone) return;
      const waiting = carrier.waiting();
      if (waiting === 0) client.tookAt = performance.now();
      if (waiting <= MAX_WAITING_BYTES) events.sent(carrier.send(chunk));
      else {
        client.end("slow");
        events.slow();
      }
    },
    end(reason: Ending): void {
      if (client.gone) return;
      client.leave();
      carrier.close(reason);
    },
    /** The connection has ended. */
    leave(): void {
      client.gone = true;
      events.gone();
      wake();
    },
    /** More may be sent. */
    drained(): void {
      client.tookAt = performance.now();
      wake();
    },
    /** Resolves once little waits for the client; at once in the usual case. */
    async ready(): Promise<void> {
      if (client.gone || carrier.waiting() < REPLAY_WAITING_BYTES) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      wake = resolve;
      await promise;
    },
  };
  return client;
}

interface BroadcasterDeps {
  readonly bus: Pick<Bus, "subscribe" | "lastPublished">;
  /** Asks for a metrics sample: it comes through the bus. */
  readonly requestSample: () => void;
  /** False once the key of this id was revoked or has expired, or the sign-in has ended. */
  readonly keyHolds: (id: string) => boolean;
  readonly encoder: EventEncoder;
  /** Most bytes that may wait for all clients together (`limits.stream_buffers`). */
  readonly bufferBytes: () => number;
  readonly log: Pick<Log, "warn">;
  readonly every?: typeof repeat;
}

type EventPage = readonly EventRow[];

/** The daemon's side of the stream routes. */
export interface StreamsPort {
  readonly broadcaster: Broadcaster;
  readonly history: Pick<Events, "oldestId" | "deletedThrough" | "holesAbove"> & {
    /** Returns the next published events above `after`, at most `limit`, in order. */
    page(after: number, limit: number, only?: EventType): EventPage | Promise<EventPage>;
    /** At a hub: tells what another hub has told already, where the client may come from. */
    catchUp?(): Promise<void>;
  };
  readonly samples: Pick<Sampler, "fresh" | "since">;
  /** Streams at the same time: in all, and of one key. */
  limits(): { readonly streams: number; readonly perKey: number };
}

export const HEARTBEAT_MS = 15_000;
/** Keeps proxies from closing a quiet stream. WebSockets have Bun's own pings. */
const HEARTBEAT = ownChunk(":\n\n");
/** The same as an event. An EventSource drops an event without data. */
const HEARTBEAT_EVENT = ownChunk('event: heartbeat\ndata: {"type":"heartbeat"}\n\n', { type: "heartbeat" });
/** Keys of open streams are looked at this often: a revocation takes hold within 5 s. */
export const KEY_CHECK_MS = 2_500;

export type Broadcaster = ReturnType<typeof createBroadcaster>;

/**
 * Fan-out. Chunks for clients with equal filters are built once. Metrics go to the clients that are due:
 * one timer per interval, one sample for all due clients.
 */
export function createBroadcaster(deps: BroadcasterDeps) {
  const { bus, requestSample, keyHolds, encoder, every = repeat } = deps;
  const members = new Set<StreamClient>();
  /** Members that have caught up. */
  const live = new Set<StreamClient>();
  /** Live clients that wait for a metrics sample. */
  const due = new Set<StreamClient>();
  /** Timers of metrics by their interval. */
  const ticks = new Map<number, () => void>();

  let turn: Promise<unknown> = Promise.resolve();
  const budget = createSendBudget(members, deps.bufferBytes, (slowest, bytes) => {
    for (const client of slowest) client.end("slow");
    deps.log.warn(
      "The send buffers of all streams are full (limits.stream_buffers): the slowest readers were cut off",
      {
        clients: slowest.length,
        bytes,
      },
    );
  });

  const unsubscribe = bus.subscribe((batch) => {
    if (live.size === 0) return;
    const newest = batch.findLast(({ event }) => event.type === "metrics");
    // Of several samples that a busy moment put into one group, the newest serves all.
    const all = batch
      .filter((one) => one.event.type !== "metrics" || one === newest)
      .map((one) => encoder.published(one));
    const toDue = chunksOf(all);
    const toOthers = chunksOf(all.filter(({ row }) => row.type !== "metrics"));
    for (const client of live) {
      const chunk =
        newest !== undefined && due.delete(client) ? toDue(client.filter) : toOthers(client.filter);
      if (chunk !== null) client.send(chunk);
    }
  });

  const stopHeartbeat = every(HEARTBEAT_MS, () => {
    for (const client of members) client.send(client.filter.seesHeartbeat ? HEARTBEAT_EVENT : HEARTBEAT);
  });
  const stopKeyCheck = every(KEY_CHECK_MS, () => {
    for (const [id, clients] of Map.groupBy(members, ({ holder }) => holder))
      if (!keyHolds(id)) for (const client of clients) client.end("key");
  });

  const wantSample = (client: StreamClient) => {
    if (client.filter.intervalMs === null) return;
    due.add(client);
    requestSample();
  };

  /** Starts the interval's timer. It stops by itself once no client has the interval. */
  const tickEvery = (ms: number) =>
    every(ms, () => {
      const clients = [...live].filter(({ filter }) => filter.intervalMs === ms);
      for (const client of clients) wantSample(client);
      if (clients.length > 0) return;
      ticks.get(ms)?.();
      ticks.delete(ms);
    });

  /** From the next batch on the client gets what its filter, which may be a new one, lets through. */
  const goLive = (client: StreamClient) => {
    if (!members.has(client)) return;
    live.add(client);
    const ms = client.filter.intervalMs;
    if (ms === null) due.delete(client);
    else ticks.getOrInsertComputed(ms, () => tickEvery(ms));
  };

  return {
    encoder,
    /** Counts the client in: it gets signs of life and is ended with its key, and still catches up by itself. */
    enter: (client: StreamClient) => void members.add(client),
    goLive,
    sent: budget.sent,
    /**
     * Resolves in a turn of the event loop in which no other replay is given one, so that thousands of replays do not
     * hold up requests.
     */
    replayTurn(): Promise<unknown> {
      const own = turn;
      turn = own.then(() => nextTurn());
      return own;
    },
    /** Gives the client another filter, also while it catches up, and a sample by it. */
    refilter(client: StreamClient, filter: StreamFilter) {
      client.filter = filter;
      if (live.has(client)) goLive(client);
      wantSample(client);
    },
    leave(client: StreamClient) {
      for (const set of [members, live, due]) set.delete(client);
    },
    /** Sends the client the next metrics event, and sees to it that there is one. */
    wantSample,
    lastPublished: () => bus.lastPublished(),
    takesPictures: () => live.values().some(({ filter }) => filter.takesPictures),
    /** Filters of the live clients that take pictures. */
    ofPictures: () => [...live].map(({ filter }) => filter).filter(({ takesPictures }) => takesPictures),
    counts() {
      const sse = [...members].filter(({ kind }) => kind === "sse").length;
      return { sse, websocket: members.size - sse };
    },
    /** Streams by the ids of the keys, sign-ins and callers without a key that opened them. */
    heldBy: (isOne: (id: string) => boolean) => [...members].filter(({ holder }) => isOne(holder)).length,
    /** Ends every stream and accepts no further events. */
    close() {
      unsubscribe();
      for (const stop of [stopHeartbeat, stopKeyCheck, ...ticks.values()]) stop();
      for (const client of [...members]) client.end("shutdown");
    },
  };
}

/** Puts events together once for each filter. */
function chunksOf(events: readonly EncodedEvent[]): (filter: StreamFilter) => Chunk | null {
  const made = new Map<string, Chunk | null>();
  return (filter) => made.getOrInsertComputed(filter.key, () => chunkOf(events, filter));
}
