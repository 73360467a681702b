import { setImmediate as nextTurn } from "node:timers/promises";
import type { EventType } from "../../domain/events.ts";
import type { Log } from "../../domain/log.ts";
import { repeat } from "../../domain/time/clock.ts";
import type { Bus } from "../../live/bus.ts";
import type { Sampler } from "../../live/sampler.ts";
import type { EventRow, Events } from "../../store/events.ts";
import { type Chunk, chunkOf, type EncodedEvent, type EventEncoder, ownChunk } from "./encode.ts";
import type { StreamFilter } from "./stream-filter.ts";

/** Share of the budget that remains in use after a cut, so that the next cut is not due at once. */
const LEFT_SHARE = 3 / 4;

/**
 * Limits the waiting bytes of all readers. Above the budget, `cut` gets the readers that took nothing for the
 * longest time. Counting visits every reader, so it runs only after enough bytes were sent to exceed the budget.
 */
export function createSendBudget<R extends { waiting(): number; readonly tookAt: number }>(
  readers: Iterable<R>,
  limit: () => number,
  cut: (slowest: readonly R[], bytes: number) => void,
  nextTurn: (work: () => void) => void = setImmediate,
) {
  /** Upper bound of the waiting bytes: those of the last count, and all bytes sent since. */
  let most = 0;
  let isDue = false;

  function count(): void {
    isDue = false;
    const behind = [...readers].map((reader) => ({ reader, bytes: reader.waiting() }));
    most = behind.reduce((sum, { bytes }) => sum + bytes, 0);
    if (most <= limit()) return;
    const before = most;
    const slowest: R[] = [];
    for (const { reader, bytes } of behind.sort((a, b) => a.reader.tookAt - b.reader.tookAt)) {
      if (most <= limit() * LEFT_SHARE) break;
      if (bytes === 0) continue;
      most -= bytes;
      slowest.push(reader);
    }
    cut(slowest, before);
  }

  return {
    sent(bytes: number): void {
      most += bytes;
      if (isDue || most <= limit()) return;
      isDue = true;
      // Count in the next turn, because most readers will have taken these bytes by then.
      nextTurn(count);
    },
  };
}

/** Maximum number of waiting bytes of a client. With more, the client is disconnected and may resume. */
const MAX_WAITING_BYTES = 1024 * 1024;
/** Number of waiting bytes at which a replay pauses. */
export const REPLAY_WAITING_BYTES = 32 * 1024;

export const ENDINGS = {
  shutdown: "licmond is shutting down",
  key: "the API key or the sign-in has ended",
  slow: "reads too slowly",
  failed: "internal error",
} as const;
export type Ending = keyof typeof ENDINGS;

/** Transport of a client: an event stream or a WebSocket. */
export interface Carrier {
  readonly kind: "sse" | "websocket";
  /** Bytes that the client has not taken yet. */
  waiting(): number;
  /** Sends a chunk and returns its number of bytes. */
  send(chunk: Chunk): number;
  close(reason: Ending): void;
}

export type StreamClient = ReturnType<typeof createClient>;

interface ClientEvents {
  /** The connection ended, from either side. */
  gone(): void;
  /** The client was cut off. */
  slow(): void;
  sent(bytes: number): void;
}

/** A client over either transport. */
export function createClient(holder: string, filter: StreamFilter, carrier: Carrier, events: ClientEvents) {
  let wake = () => {};
  const client = {
    kind: carrier.kind,
    /** Id of its key or sign-in. */
    holder,
    filter,
    gone: false,
    waiting: carrier.waiting,
    tookAt: performance.now(),
    /** Does not block; a slow client is cut off. */
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
    leave(): void {
      client.gone = true;
      events.gone();
      wake();
    },
    drained(): void {
      client.tookAt = performance.now();
      wake();
    },
    /** Resolves once few bytes wait. */
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
  /** Requests a metrics sample, which arrives on the bus. */
  readonly requestSample: () => void;
  /** Returns false once the key or sign-in is revoked or expired. */
  readonly keyHolds: (id: string) => boolean;
  readonly encoder: EventEncoder;
  /** Maximum number of waiting bytes of all clients (`limits.stream_buffers`). */
  readonly bufferBytes: () => number;
  readonly log: Pick<Log, "warn">;
  readonly every?: typeof repeat;
}

type EventPage = readonly EventRow[];

export interface StreamsPort {
  readonly broadcaster: Broadcaster;
  readonly history: Pick<Events, "oldestId" | "deletedThrough" | "holesAbove"> & {
    /** Returns up to `limit` published events after `after`, in order. */
    page(after: number, limit: number, only?: EventType): EventPage | Promise<EventPage>;
    /**
     * At a hub: publishes what other hubs have already published, because the client may have been
     * connected to one of them.
     */
    catchUp?(): Promise<void>;
  };
  readonly samples: Pick<Sampler, "fresh" | "since">;
  /** Maximum number of streams in total and per key. */
  limits(): { readonly streams: number; readonly perKey: number };
}

export const HEARTBEAT_MS = 15_000;
/** Stream comment that keeps proxies from closing a quiet stream. WebSockets have pings instead. */
const HEARTBEAT = ownChunk(":\n\n");
/** Heartbeat as an event. It has data, because EventSource drops an event without data. */
const HEARTBEAT_EVENT = ownChunk('event: heartbeat\ndata: {"type":"heartbeat"}\n\n', { type: "heartbeat" });
/** Interval at which keys are checked, so that a revocation ends streams within 5 s. */
export const KEY_CHECK_MS = 2_500;

export type Broadcaster = ReturnType<typeof createBroadcaster>;

/**
 * Fans events out. Chunks for equal filters are built once. One timer per metrics interval requests one sample for
 * all due clients.
 */
export function createBroadcaster(deps: BroadcasterDeps) {
  const { bus, requestSample, keyHolds, encoder, every = repeat } = deps;
  const members = new Set<StreamClient>();
  /** Members whose replay is complete. */
  const live = new Set<StreamClient>();
  /** Live clients that wait for a metrics sample. */
  const due = new Set<StreamClient>();
  /** Metrics timers by interval. */
  const ticks = new Map<number, () => void>();

  let turn: Promise<unknown> = Promise.resolve();
  const budget = createSendBudget(members, deps.bufferBytes, (slowest, bytes) => {
    for (const client of slowest) client.end("slow");
    deps.log.warn(
      "The send buffers of all streams are full (limits.stream_buffers): the slowest readers were cut off",
      { clients: slowest.length, bytes },
    );
  });

  const unsubscribe = bus.subscribe((batch) => {
    if (live.size === 0) return;
    const newest = batch.findLast(({ event }) => event.type === "metrics");
    // Keep only the newest of several samples in a batch.
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

  /** The timer stops once no client uses the interval. */
  const tickEvery = (ms: number) =>
    every(ms, () => {
      const clients = [...live].filter(({ filter }) => filter.intervalMs === ms);
      for (const client of clients) wantSample(client);
      if (clients.length > 0) return;
      ticks.get(ms)?.();
      ticks.delete(ms);
    });

  const goLive = (client: StreamClient) => {
    if (!members.has(client)) return;
    live.add(client);
    const ms = client.filter.intervalMs;
    if (ms === null) due.delete(client);
    else ticks.getOrInsertComputed(ms, () => tickEvery(ms));
  };

  return {
    encoder,
    /** Registers a client, so that it gets heartbeats and ends with its key even during its replay. */
    enter: (client: StreamClient) => void members.add(client),
    goLive,
    sent: budget.sent,
    /** Resolves in its own turn of the event loop, so that thousands of replays do not delay requests. */
    replayTurn(): Promise<unknown> {
      const own = turn;
      turn = own.then(() => nextTurn());
      return own;
    },
    /** Replaces the filter of a client, also during its replay, and sends a sample. */
    refilter(client: StreamClient, filter: StreamFilter) {
      client.filter = filter;
      if (live.has(client)) goLive(client);
      wantSample(client);
    },
    leave(client: StreamClient) {
      for (const set of [members, live, due]) set.delete(client);
    },
    wantSample,
    lastPublished: () => bus.lastPublished(),
    takesPictures: () => live.values().some(({ filter }) => filter.takesPictures),
    ofPictures: () => [...live].map(({ filter }) => filter).filter(({ takesPictures }) => takesPictures),
    counts() {
      const sse = [...members].filter(({ kind }) => kind === "sse").length;
      return { sse, websocket: members.size - sse };
    },
    heldBy: (isOne: (id: string) => boolean) => [...members].filter(({ holder }) => isOne(holder)).length,
    close() {
      unsubscribe();
      for (const stop of [stopHeartbeat, stopKeyCheck, ...ticks.values()]) stop();
      for (const client of [...members]) client.end("shutdown");
    },
  };
}

function chunksOf(events: readonly EncodedEvent[]): (filter: StreamFilter) => Chunk | null {
  const made = new Map<string, Chunk | null>();
  return (filter) => made.getOrInsertComputed(filter.key, () => chunkOf(events, filter));
}
