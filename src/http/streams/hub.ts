import type { Published } from "../../live/bus.ts";
import type { StreamFilter } from "./stream-filter.ts";
import { NONE, type Teller, type Telling } from "./telling.ts";

/** A connected reader, whatever it is connected by. */
export interface StreamClient {
  readonly kind: "sse" | "websocket";
  readonly filter: StreamFilter;
  readonly keyId: string;
  /**
   * Takes what was put together for all clients of its kind and filter. It must not block, and it ends itself when
   * too much waits for it.
   */
  send(chunk: Chunk): void;
  /** A sign of life, so that proxies keep the connection. */
  heartbeat(): void;
  /** Ends the connection and leaves the hub. */
  end(reason: "shutdown" | "key"): void;
}

/** Events for one group of clients, encoded at most once a kind. */
export interface Chunk {
  /** All frames in one piece. */
  bytes(): Uint8Array;
  /** The events' JSON texts. */
  texts(): readonly string[];
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
  readonly teller: Teller;
}

export interface Hub {
  readonly teller: Teller;
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
  /** Says goodbye to everyone and takes no events any more. */
  close(): void;
}

export const HEARTBEAT_MS = 15_000;
/** Keys of open streams are looked at this often: a revocation takes hold within 5 s. */
export const KEY_CHECK_MS = 2_500;

interface Group {
  readonly filter: StreamFilter;
  readonly clients: Set<StreamClient>;
}

/**
 * Fan-out. Clients of one kind and filter are a group: what they get is put together once and handed to each.
 * Metrics go to those who are due: one timer for all clients of an interval, one sample for all who are due.
 */
export function createHub({ bus, requestSample, keyHolds, timers, teller }: HubDeps): Hub {
  const groups = new Map<string, Group>();
  const intervals = new Map<number, { timer: unknown; clients: Set<StreamClient> }>();
  const due = new Set<StreamClient>();
  const members = new Set<StreamClient>();
  const perKey = new Map<string, number>();
  const counts = { sse: 0, websocket: 0 };

  const unsubscribe = bus.subscribe((batch) => {
    if (groups.size === 0) return;
    const tellings = batch.map(teller.published);
    const metrics = tellings.some(({ type }) => type === "metrics");
    for (const { filter, clients } of groups.values()) {
      const plain = chunkOf(
        tellings.filter(({ type }) => type !== "metrics"),
        filter,
      );
      const full = metrics && filter.intervalMs !== null ? chunkOf(tellings, filter) : plain;
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

  const tick = (clients: Set<StreamClient>) => {
    for (const client of clients) due.add(client);
    requestSample();
  };

  const joinInterval = (client: StreamClient, ms: number) => {
    let known = intervals.get(ms);
    if (known === undefined) {
      const clients = new Set<StreamClient>();
      known = { clients, timer: timers.repeat(() => tick(clients), ms) };
      intervals.set(ms, known);
    }
    known.clients.add(client);
  };

  const leaveInterval = (client: StreamClient, ms: number) => {
    const known = intervals.get(ms);
    if (!known?.clients.delete(client) || known.clients.size > 0) return;
    timers.clear(known.timer);
    intervals.delete(ms);
  };

  const join = (client: StreamClient) => {
    const { filter } = client;
    const group = groups.get(groupKey(client)) ?? { filter, clients: new Set<StreamClient>() };
    groups.set(groupKey(client), group);
    group.clients.add(client);
    if (filter.intervalMs !== null) joinInterval(client, filter.intervalMs);
  };

  const part = (client: StreamClient) => {
    due.delete(client);
    const group = groups.get(groupKey(client));
    group?.clients.delete(client);
    if (group?.clients.size === 0) groups.delete(groupKey(client));
    if (client.filter.intervalMs !== null) leaveInterval(client, client.filter.intervalMs);
  };

  return {
    teller,
    enter(client) {
      members.add(client);
      counts[client.kind]++;
      perKey.set(client.keyId, (perKey.get(client.keyId) ?? 0) + 1);
    },
    goLive(client) {
      if (members.has(client)) join(client);
    },
    regroup(client, change) {
      const live = groups.get(groupKey(client))?.clients.has(client) === true;
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

function groupKey({ kind, filter }: StreamClient): string {
  return `${kind} ${filter.key}`;
}

/** What a filter lets through; null when it is nothing. */
export function chunkOf(tellings: readonly Telling[], filter: StreamFilter): Chunk | null {
  const wanted: { telling: Telling; parts: number }[] = [];
  for (const telling of tellings) {
    const parts = filter.partsOf(telling);
    if (parts !== NONE) wanted.push({ telling, parts });
  }
  const [only] = wanted;
  if (only === undefined) return null;
  let bytes: Uint8Array | null = null;
  let texts: string[] | null = null;
  return {
    bytes() {
      bytes ??=
        wanted.length === 1
          ? only.telling.frames(only.parts)
          : Buffer.concat(wanted.map(({ telling, parts }) => telling.frames(parts)));
      return bytes;
    },
    texts() {
      texts ??= wanted.map(({ telling, parts }) => telling.text(parts));
      return texts;
    },
  };
}
