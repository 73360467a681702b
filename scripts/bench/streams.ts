import { join } from "node:path";
import { cpuSeconds, residentMegabytes } from "./measure.ts";
import { freePort, type Place, startPlace, untilAnswers } from "./place.ts";
import type { Bench, Row } from "./table.ts";

const CLIENTS = 1_000;
const RATE = 50;
const SECONDS = 6;
const IDLE_CLIENTS = 5_000;
const SSE = "/stream/logs?events=log";
const WS = "/ws/logs";

export interface Counts {
  readonly events: number;
  readonly closed: number;
  readonly p50: number;
  readonly p99: number;
}

/** Readers in a process of their own. */
export interface Readers extends AsyncDisposable {
  mark(): Promise<void>;
  stop(): Promise<Counts>;
}

export async function startReaders(port: number, path: string, key: string, count: number): Promise<Readers> {
  const child = Bun.spawn(
    [process.execPath, join(import.meta.dir, "stream-readers.ts"), String(port), path, key, String(count)],
    { stdin: "pipe", stdout: "pipe", stderr: "inherit" },
  );
  const lines = linesOf(child.stdout);
  if ((await lines.next()).value !== "ready") throw new Error("the readers did not connect");
  return {
    async mark() {
      child.stdin.write("mark\n");
      await child.stdin.flush();
    },
    async stop() {
      child.stdin.write("stop\n");
      await child.stdin.flush();
      return JSON.parse((await lines.next()).value ?? "null") as Counts;
    },
    async [Symbol.asyncDispose]() {
      child.kill();
      await child.exited;
    },
  };
}

async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string, string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const bytes of stream) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
  return rest;
}

interface FanOut {
  /** Microseconds of CPU for one event that reached one client. */
  readonly cpuMicros: number;
  readonly counts: Counts;
}

/** What it costs a process to tell all readers `RATE` events a second, made by `tick`. */
async function fanOut(
  port: number,
  path: string,
  key: string,
  pid: number,
  tick: () => void,
): Promise<FanOut> {
  await using readers = await startReaders(port, path, key, CLIENTS);
  const timer = setInterval(tick, 1000 / RATE);
  await Bun.sleep(1_500);
  await readers.mark();
  const before = await cpuSeconds(pid);
  await Bun.sleep(SECONDS * 1_000);
  const seconds = (await cpuSeconds(pid)) - before;
  clearInterval(timer);
  const counts = await readers.stop();
  if (counts.closed > 0) throw new Error(`${counts.closed} of ${CLIENTS} readers were cut off`);
  const expected = CLIENTS * RATE * SECONDS;
  if (counts.events < expected * 0.9) throw new Error(`${counts.events} events came, not ${expected}`);
  return { cpuMicros: (seconds * 1e6) / counts.events, counts };
}

/** An event as licmond tells it, for the bare server to tell too. */
async function oneEvent({ url, key }: Place): Promise<string> {
  const answer = await fetch(`${url}/api/logs/recent?lines=1&levels=debug`, {
    headers: { "X-API-Key": key },
  });
  const text = await answer.text();
  const event = /"logs":\[(\{.*\})\]/.exec(text)?.[1];
  if (event === undefined) throw new Error(`no event: ${text.slice(0, 300)}`);
  return event;
}

async function withBareServer<T>(
  rate: number,
  event: string,
  work: (port: number, pid: number) => Promise<T>,
): Promise<T> {
  const port = freePort();
  const server = Bun.spawn(
    [process.execPath, join(import.meta.dir, "stream-bare-server.ts"), String(port), String(rate), event],
    { stdin: "ignore", stdout: "inherit", stderr: "inherit" },
  );
  try {
    await untilAnswers(`http://127.0.0.1:${port}/`, () => server.exitCode !== null);
    return await work(port, server.pid);
  } finally {
    server.kill();
    await server.exited;
  }
}

function bareFanOut(path: string, event: string): Promise<FanOut> {
  return withBareServer(RATE, event, (port, pid) => fanOut(port, path, "none", pid, () => {}));
}

/** KB of its own that a process keeps for one more reader to whom nothing is told. */
async function idleKilobytes(port: number, path: string, key: string, pid: number): Promise<number> {
  // What the first readers bring into memory once is no reader's.
  await using _first = await startReaders(port, path, key, 50);
  await Bun.sleep(1_000);
  const before = await residentMegabytes(pid);
  await using _readers = await startReaders(port, path, key, IDLE_CLIENTS);
  await Bun.sleep(3_000);
  const after = await residentMegabytes(pid);
  return ((after.own - before.own) * 1000) / IDLE_CLIENTS;
}

async function idleRow(): Promise<Row> {
  // Nothing is told at this level while the readers come.
  await using place = await startPlace({ outputs: [], logLevel: "info", streams: IDLE_CLIENTS + 100 });
  const ours = await idleKilobytes(place.port, SSE, place.key, place.pid);
  const baseline = await withBareServer(0.001, "{}", (port, pid) => idleKilobytes(port, SSE, "none", pid));
  return {
    what: `memory of an idle event stream, ${IDLE_CLIENTS} of them`,
    ...{ ours, baseline, unit: "KB", bound: { of: "ours", atMost: 20 } },
  };
}

function rowsOf(what: string, ours: FanOut, base: FanOut): Row[] {
  return [
    {
      what: `${what}: CPU of an event at a client, ${CLIENTS} × ${RATE}/s`,
      ours: ours.cpuMicros,
      baseline: base.cpuMicros,
      unit: "µs",
      bound: { of: "ratio", atMost: 1.5 },
    },
    {
      what: `${what}: p99 from the log call to the client`,
      ours: ours.counts.p99,
      baseline: base.counts.p99,
      unit: "ms",
      bound: { of: "ours", atMost: 50 },
    },
  ];
}

export const streams: Bench = {
  name: "streams",
  what: `${CLIENTS} readers × ${RATE} events/s beside a bare Bun.serve; memory of ${IDLE_CLIENTS} idle readers`,
  async run(): Promise<Row[]> {
    await using place = await startPlace({ outputs: [], logLevel: "debug", streams: CLIENTS + 10 });
    // Every request is a log event.
    const tick = () => void fetch(`${place.url}/api/ping`).then((answer) => answer.arrayBuffer());
    tick();
    await Bun.sleep(200);
    const event = await oneEvent(place);
    const sse = await fanOut(place.port, SSE, place.key, place.pid, tick);
    const bareSse = await bareFanOut("/stream/logs", event);
    const socket = await fanOut(place.port, WS, place.key, place.pid, tick);
    const bareSocket = await bareFanOut("/ws/logs", event);
    return [
      ...rowsOf("event stream", sse, bareSse),
      ...rowsOf("WebSocket", socket, bareSocket),
      await idleRow(),
    ];
  },
};
