import type { CheckoutEvent, EventInput, LogEvent, ServerStatusEvent } from "../../../src/domain/events.ts";
import { repeat, systemTimers } from "../../../src/domain/time/clock.ts";
import { createPseudonyms } from "../../../src/http/anonymous/anonymous.ts";
import type { Exchange } from "../../../src/http/exchange.ts";
import { createBroadcaster, type StreamsPort } from "../../../src/http/streams/broadcaster.ts";
import { createEncoder } from "../../../src/http/streams/encode.ts";
import { openStream } from "../../../src/http/streams/open-stream.ts";
import type { StreamName } from "../../../src/http/streams/stream-filter.ts";
import { createSocketHandlers } from "../../../src/http/streams/websocket.ts";
import { type Bus, createBus, createIds } from "../../../src/live/bus.ts";
import { createSampler } from "../../../src/live/sampler.ts";
import type { EventRow } from "../../../src/store/events.ts";
import { recordingLog } from "../../store/recording-log.ts";
import type { Bench } from "../make.ts";

/** A fixed secret, so that tests know the pseudonyms. */
export const PSEUDONYMS = createPseudonyms(new Uint8Array(32));

/** Streams with a real bus, hub and sampler, and in-memory events. */
export interface MemoryStreams extends StreamsPort {
  log(message: string, change?: Partial<LogEvent>): void;
  emit(input: EventInput): void;
  readonly bus: Pick<Bus, "pass">;
  flush(): void;
  /** Runs the hub's timers of this interval. */
  tick(ms: number): void;
  /** Deletes events up to an id, as retention does. */
  forget(through: number): void;
  readonly holes: { from: number; to: number }[];
  readonly stored: readonly EventRow[];
  /** Log lines of the streams' hub. */
  readonly logged: ReturnType<typeof recordingLog>["lines"];
  limit: { streams: number; perKey: number };
  bufferBytes: number;
  close(): void;
}

export function memoryStreams(keyHolds: (id: string) => boolean): MemoryStreams {
  const clock = { now: () => Date.now() };
  const stored: EventRow[] = [];
  const holes: { from: number; to: number }[] = [];
  let deleted = 0;
  const bus = createBus({
    ids: createIds({ clock, start: 0, reserve() {}, onAhead() {} }),
    timers: systemTimers,
    sink: {
      transaction: (work) => work(),
      insert: (id, event, json) =>
        void stored.push({
          id,
          type: event.type,
          level: event.type === "log" ? event.level : null,
          source: event.type === "log" ? event.source : null,
          json,
        }),
      insertHole: (from, to) => void holes.push({ from, to }),
    },
    onStore() {},
  });
  const encoder = createEncoder(PSEUDONYMS);
  const ticks = new Map<number, () => void>();
  const every: typeof repeat = (ms, run) => {
    ticks.set(ms, run);
    return repeat(ms, run);
  };
  const log = recordingLog();
  let reads = 0;
  const sampler = createSampler({
    bus,
    clock,
    timers: systemTimers,
    read: () => ({
      cpu: 12.5,
      memory: 40,
      system: { cpu: 12.5, memory: 40, disk: null },
      licenses: { total: 10, used: ++reads, utilization: reads * 10 },
    }),
  });
  const streams: MemoryStreams = {
    broadcaster: createBroadcaster({
      bus,
      requestSample: sampler.request,
      keyHolds,
      encoder,
      bufferBytes: () => streams.bufferBytes,
      log,
      every,
    }),
    samples: sampler,
    history: {
      page: (after, limit, only) =>
        stored.filter(({ id, type }) => id > after && (only === undefined || type === only)).slice(0, limit),
      oldestId: () => stored[0]?.id ?? null,
      deletedThrough: () => deleted,
      holesAbove: (after) => holes.filter(({ to }) => to > after),
    },
    limit: { streams: 10, perKey: 5 },
    bufferBytes: 64 * 1024 ** 2,
    limits: () => streams.limit,
    log: (message, change = {}) =>
      bus.emit({ type: "log", level: "info", message, source: "collector", metadata: {}, ...change }),
    emit: bus.emit,
    bus,
    flush: bus.flush,
    tick: (ms) => ticks.get(ms)?.(),
    forget(through) {
      deleted = through;
      while ((stored[0]?.id ?? Infinity) <= through) stored.shift();
    },
    holes,
    stored,
    logged: log.lines,
    close() {
      streams.broadcaster.close();
      sampler.stop();
      bus.flush();
    },
  };
  return streams;
}

/** WebSocket handlers with a fake socket that records messages and the close code. */
export function socketOf(
  { deps, keys }: Bench,
  role: keyof Bench["keys"],
  stream: StreamName,
  query: string,
) {
  const done: (string | number)[] = [];
  const held = { bytes: 0 };
  const check = deps.keys.verify(keys[role]);
  const caller = check.outcome === "valid" ? check.key : null;
  const exchange = { caller, signIn: null, request: new Request("http://lic/ws") } as Exchange;
  const opening = openStream(deps.streams, deps.log("http"), stream, exchange, null);
  const handlers = createSocketHandlers(
    opening,
    query,
    () => 0,
    (wanted) => wanted,
  );
  const ws = {
    getBufferedAmount: () => held.bytes,
    cork: (write: () => void) => write(),
    sendText: (text: string) => void done.push(text),
    close: (code: number) => void done.push(code),
  } as unknown as Parameters<typeof handlers.open>[0];
  handlers.open(ws);
  return { done, held, say: (message: object) => handlers.message(ws, JSON.stringify(message)) };
}

/** Status event of a server, or of one of its daemons. */
export function down(server: string, daemon: string | null = null): EventInput<ServerStatusEvent> {
  return { type: "server_status", server, daemon, from: "up", to: "down", reason: null };
}

/** Checkout event. */
export function taken(change: Partial<EventInput<CheckoutEvent>> = {}): EventInput<CheckoutEvent> {
  const at = "2026-03-01T12:00:00.000Z";
  return {
    type: "checkout",
    session: 1,
    server: "eda",
    daemon: "acmed",
    feature: "solver",
    user: "ada",
    host: "ws01",
    display: null,
    version: null,
    count: 1,
    handle: null,
    startedAt: null,
    firstSeenAt: at,
    lastSeenAt: at,
    endedAt: null,
    endReason: null,
    durationSeconds: 0,
    ...change,
  };
}

/** A parsed frame of server-sent events. Comments have their text in `comment`. */
export interface Frame {
  readonly event?: string;
  readonly id?: number;
  readonly data?: Record<string, unknown>;
  readonly comment?: string;
  readonly retry?: number;
}

/** Reads frames one by one. */
export function readFrames(response: Response) {
  const reader = (response.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  const next = async (): Promise<Frame | null> => {
    for (;;) {
      const end = text.indexOf("\n\n");
      if (end >= 0) {
        const block = text.slice(0, end);
        text = text.slice(end + 2);
        return parseBlock(block);
      }
      const { value, done } = await reader.read();
      if (done) return null;
      text += value;
    }
  };
  const take = async (count: number) => {
    const frames: Frame[] = [];
    while (frames.length < count) {
      const frame = await next();
      if (frame === null) break;
      frames.push(frame);
    }
    return frames;
  };
  return {
    next,
    take,
    /** Reads all remaining frames. */
    rest: () => take(Infinity),
    cancel: () => reader.cancel(),
  };
}

function parseBlock(block: string): Frame {
  return Object.assign({}, ...block.split("\n").map(parseLine)) as Frame;
}

function parseLine(line: string): Frame {
  if (line.startsWith(":")) return { comment: line.slice(1) };
  const [, name, value = ""] = /^(\w+): ?(.*)$/s.exec(line) ?? [];
  if (name === "event") return { event: value };
  if (name === "id") return { id: Number(value) };
  if (name === "retry") return { retry: Number(value) };
  if (name === "data") return { data: JSON.parse(value) as Record<string, unknown> };
  throw new Error(`Not a line of an event stream: ${line}`);
}
