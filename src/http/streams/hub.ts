import type { EventType } from "../../domain/events.ts";
import type { Published } from "../../live/bus.ts";
import { type Chunk, chunkOf, type EventEncoder, type EventRow } from "./encode.ts";
import type { StreamFilter } from "./stream-filter.ts";

/** A client of server-sent events or of a WebSocket. */
export interface StreamClient {
  readonly kind: "sse" | "websocket";
  readonly filter: StreamFilter;
  readonly keyId: string;
  /**
   * Takes what was put together for all clients of its filter. It must not block, and it ends itself when
   * too much waits for it.
   */
  send(chunk: Chunk): void;
  /** A sign of life, so that proxies keep the connection. */
  heartbeat(): void;
  /** Ends the connection and leaves the hub. */
  end(reason: "shutdown" | "key"): void;
}

export interface HubTimers {
  repeat(work: () => void, ms: number): unknown;
  clear(timer: unknown): void;
}

export interface HubDeps {
  readonly bus: {
    subscribe(listener: (batch: readonly Published[]) => void): () => void;
    lastPublished(): number;
  };
  /** Asks for a metrics sample: it comes through the bus. */
  readonly requestSample: () => void;
  /** False once the key was revoked or has expired. */
  readonly keyHolds: (id: string) => boolean;
  readonly timers: HubTimers;
  readonly encoder: EventEncoder;
}

export interface Hub {
  readonly encoder: EventEncoder;
  /** Counts the client in: it gets signs of life and is ended with its key, and still catches up by itself. */
  enter(client: StreamClient): void;
  /** From the next batch on the client gets what its filter lets through. */
  goLive(client: StreamClient): void;
  /** Lets `change` give the client another filter: the hub keeps clients by it. */
  regroup(client: StreamClient, change: () => void): void;
  leave(client: StreamClient): void;
  /** Sends the client the next metrics event, and sees to it that there is one. */
  wantSample(client: StreamClient): void;
  lastPublished(): number;
  counts(): { readonly sse: number; readonly websocket: number };
  ofKey(id: string): number;
  /** Ends every stream and takes no more events. */
  close(): void;
}

/** What the stream routes need of the daemon. */
export interface StreamsPort {
  readonly hub: Hub;
  readonly history: EventHistory;
  readonly samples: {
    /** The sample of this moment, if there is one. */
    fresh(): Published | null;
    since(id: number): readonly Published[];
  };
  /** Streams at the same time: in all, and of one key. */
  limits(): { readonly streams: number; readonly perKey: number };
}

/** What streams ask of the stored events. */
export interface EventHistory {
  /** The next events above `after`, at most `limit`, in order. */
  page(after: number, limit: number, only?: EventType): readonly EventRow[];
  oldestId(): number | null;
  /** The newest id that was deleted by retention or a clearing; 0 when none was. */
  deletedThrough(only?: "log"): number;
  /** Ranges of ids above `after` that were published while the store could not take them. */
  holesAbove(after: number): readonly { readonly from: number; readonly to: number }[];
}

export const HEARTBEAT_MS = 15_000;
/** Keys of open streams are looked at this often: a revocation takes hold within 5 s. */
export const KEY_CHECK_MS = 2_500;

interface Group {
  readonly filter: StreamFilter;
  readonly clients: Set<StreamClient>;
}

interface Interval {
  readonly timer: unknown;
  readonly clients: Set<StreamClient>;
}

/**
 * Fan-out. Clients of one filter are a group: what they get is put together once and handed to each.
 * Metrics go to clients that are due: one timer for all clients of an interval, one sample for all that are due.
 */
export function createHub({ bus, requestSample, keyHolds, timers, encoder }: HubDeps): Hub {
  const groups = new Map<string, Group>();
  const intervals = new Map<number, Interval>();
  const due = new Set<StreamClient>();
  const members = new Set<StreamClient>();
  const perKey = new Map<string, number>();
  const counts = { sse: 0, websocket: 0 };

  const unsubscribe = bus.subscribe((batch) => {
    if (groups.size === 0) return;
    const newest = batch.findLast(({ event }) => event.type === "metrics");
    // Of several samples that a busy moment put into one group, the newest serves all.
    const encoded = batch
      .filter((one) => one.event.type !== "metrics" || one === newest)
      .map(encoder.published);
    const others = encoded.filter(({ type }) => type !== "metrics");
    const metrics = newest !== undefined;
    for (const { filter, clients } of groups.values()) {
      const plain = chunkOf(others, filter);
      const full = metrics && filter.intervalMs !== null ? chunkOf(encoded, filter) : plain;
      for (const client of clients) {
        const chunk = due.has(client) ? full : plain;
        if (chunk !== null) client.send(chunk);
      }
    }
    if (metrics) due.clear();
  });

  const heartbeat = timers.repeat(() => {
    for (const client of members) client.heartbeat();
  }, HEARTBEAT_MS);
  const keyCheck = timers.repeat(() => {
    const ended = new Set([...perKey.keys()].filter((id) => !keyHolds(id)));
    for (const client of ended.size === 0 ? [] : [...members]) if (ended.has(client.keyId)) client.end("key");
  }, KEY_CHECK_MS);

  /** One timer for all clients of an interval. */
  const intervalOf = (ms: number): Interval => {
    const clients = new Set<StreamClient>();
    const timer = timers.repeat(() => {
      for (const client of clients) due.add(client);
      requestSample();
    }, ms);
    return { timer, clients };
  };

  const join = (client: StreamClient) => {
    const { filter } = client;
    known(groups, client.filter.key, () => ({ filter, clients: new Set() })).clients.add(client);
    const ms = filter.intervalMs;
    if (ms !== null) known(intervals, ms, () => intervalOf(ms)).clients.add(client);
  };

  const part = (client: StreamClient) => {
    due.delete(client);
    const group = groups.get(client.filter.key);
    group?.clients.delete(client);
    if (group?.clients.size === 0) groups.delete(client.filter.key);
    const ms = client.filter.intervalMs;
    const interval = ms === null ? undefined : intervals.get(ms);
    if (ms === null || !interval?.clients.delete(client) || interval.clients.size > 0) return;
    timers.clear(interval.timer);
    intervals.delete(ms);
  };

  return {
    encoder,
    enter(client) {
      members.add(client);
      counts[client.kind]++;
      perKey.set(client.keyId, (perKey.get(client.keyId) ?? 0) + 1);
    },
    goLive(client) {
      if (members.has(client)) join(client);
    },
    regroup(client, change) {
      const live = groups.get(client.filter.key)?.clients.has(client) === true;
      if (live) part(client);
      change();
      if (live) join(client);
    },
    leave(client) {
      if (!members.delete(client)) return;
      counts[client.kind]--;
      const left = (perKey.get(client.keyId) ?? 1) - 1;
      if (left > 0) perKey.set(client.keyId, left);
      else perKey.delete(client.keyId);
      part(client);
    },
    wantSample(client) {
      if (client.filter.intervalMs === null) return;
      due.add(client);
      requestSample();
    },
    lastPublished: () => bus.lastPublished(),
    counts: () => ({ ...counts }),
    ofKey: (id) => perKey.get(id) ?? 0,
    close() {
      unsubscribe();
      timers.clear(heartbeat);
      timers.clear(keyCheck);
      for (const client of [...members]) client.end("shutdown");
      for (const { timer } of intervals.values()) timers.clear(timer);
    },
  };
}

/** What a map has under a key; made where it has nothing. */
function known<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  const found = map.get(key) ?? make();
  map.set(key, found);
  return found;
}
