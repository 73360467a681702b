import { cpuSeconds, inTurns, median, residentMegabytes } from "./measure.ts";
import { pace } from "./pace.ts";
import { type Place, startPlace, startScript } from "./place.ts";
import { startReaders } from "./stream-clients.ts";
import { type Bench, compared, type Row, type Spread } from "./table.ts";

const CLIENTS = 1_000;
const RATE = 50;
/** Number of events per round, and of warm-up events after connecting. */
const EVENTS = 200;
const WARM_UP = 25;
const ROUNDS = 5;
const IDLE_CLIENTS = 5_000;
const SSE = "/stream/logs?events=log";
const WS = "/ws/logs";

/** A streaming server and a way to send events. */
interface Target {
  readonly port: number;
  readonly pid: number;
  readonly key: string;
  readonly path: string;
  /** Sends `count` events, `RATE` per second. May resolve before all are sent. */
  tell(count: number): Promise<void>;
}

interface FanOut {
  /** CPU time of the server per event and client, in µs. */
  readonly cpuMicros: number;
  /** 99th percentile of the time from an event to its arrival, in ms. */
  readonly p99: number;
}

/** Measures the cost of sending a round of events to all readers. */
async function fanOut({ port, pid, key, path, tell }: Target): Promise<FanOut> {
  await using readers = await startReaders(port, path, key, CLIENTS);
  const toldAll = async (count: number) => {
    const { all } = await readers.expect(count * CLIENTS);
    await Promise.all([tell(count), all]);
  };
  await toldAll(WARM_UP);
  const before = await cpuSeconds(pid);
  await toldAll(EVENTS);
  const seconds = (await cpuSeconds(pid)) - before;
  const { closed, events, p99 } = await readers.stop();
  if (closed > 0) throw new Error(`${closed} of ${CLIENTS} readers were cut off`);
  return { cpuMicros: (seconds * 1e6) / events, p99 };
}

function targetOf(place: Place, path: string): Target {
  const { url, port, pid, key } = place;
  // The daemon logs every request, so each request makes an event.
  const request = () => fetch(`${url}/api/ping`).then((answer) => answer.arrayBuffer());
  return {
    port,
    pid,
    key,
    path,
    async tell(count) {
      const answers: Promise<unknown>[] = [];
      await pace(count, RATE, () => void answers.push(request()));
      await Promise.all(answers);
    },
  };
}

function bareTarget({ port, pid }: Pick<Target, "port" | "pid">, path: string): Target {
  return {
    port,
    pid,
    key: "none",
    path,
    tell: async (count) => void (await fetch(`http://127.0.0.1:${port}/tell?count=${count}&rate=${RATE}`)),
  };
}

/** Returns an event of licmond, for the bare server to send. */
async function oneEvent({ url, key }: Place): Promise<string> {
  const ask = async () => {
    const answer = await fetch(`${url}/api/logs/recent?lines=1&levels=debug`, {
      headers: { "X-API-Key": key },
    });
    const text = await answer.text();
    return { text, event: /"logs":\[(\{.*"path":"\/api\/ping".*\})\]/.exec(text)?.[1] };
  };
  await (await fetch(`${url}/api/ping`)).arrayBuffer();
  // Give the daemon time to store the event.
  await Bun.sleep(200);
  const { text, event } = await ask();
  if (event === undefined) throw new Error(`no event: ${text.slice(0, 300)}`);
  return event;
}

/** Measures the KB of memory for one more idle reader. */
async function idleKilobytes({ port, path, key, pid }: Omit<Target, "tell">): Promise<number> {
  // Connect some readers first, so that one-time allocations do not count.
  await using _first = await startReaders(port, path, key, 50);
  await Bun.sleep(1_000);
  const before = await residentMegabytes(pid);
  await using _readers = await startReaders(port, path, key, IDLE_CLIENTS);
  await Bun.sleep(3_000);
  const after = await residentMegabytes(pid);
  return ((after.own - before.own) * 1000) / IDLE_CLIENTS;
}

async function idleRow(): Promise<Row> {
  // At this log level, connecting readers cause no log events.
  await using place = await startPlace({ outputs: [], logLevel: "info", streams: IDLE_CLIENTS + 100 });
  const ours = await idleKilobytes({ ...place, path: SSE });
  await using bare = await startScript("stream-bare-server.ts", "{}");
  const baseline = await idleKilobytes({ ...bare, path: SSE, key: "none" });
  const what = `memory of an idle event stream, ${IDLE_CLIENTS} of them`;
  return compared(what, { ours, baseline }, "KB", { of: "ours", atMost: 20 });
}

/** Measures both targets in turns. */
async function rowsOf(what: string, ours: Target, bare: Target): Promise<Row[]> {
  const measured = await inTurns(
    ROUNDS,
    0,
    () => fanOut(ours),
    () => fanOut(bare),
  );
  const figures = (of: (fanOut: FanOut) => number) => {
    const [own, base] = [measured.ours.map(of), measured.baseline.map(of)];
    const spread = { ours: spreadOf(own), baseline: spreadOf(base) };
    return { ours: median(own), baseline: median(base), spread };
  };
  const cpu = `${what}: CPU of an event at a client, ${CLIENTS} × ${RATE}/s`;
  const p99 = `${what}: p99 from the log call to the client`;
  return [
    compared(
      cpu,
      figures(({ cpuMicros }) => cpuMicros),
      "µs",
      { of: "ratio", atMost: 1.5 },
    ),
    compared(
      p99,
      figures((each) => each.p99),
      "ms",
      { of: "ours", atMost: 50 },
    ),
  ];
}

function spreadOf(samples: readonly number[]): Spread {
  return { from: Math.min(...samples), to: Math.max(...samples) };
}

export const streams: Bench = {
  name: "streams",
  what: `${CLIENTS} readers × ${RATE} events/s beside a bare Bun.serve; memory of ${IDLE_CLIENTS} idle readers`,
  async run(): Promise<Row[]> {
    await using place = await startPlace({ outputs: [], logLevel: "debug", streams: CLIENTS + 10 });
    await using bare = await startScript("stream-bare-server.ts", await oneEvent(place));
    return [
      ...(await rowsOf("event stream", targetOf(place, SSE), bareTarget(bare, "/stream/logs"))),
      ...(await rowsOf("WebSocket", targetOf(place, WS), bareTarget(bare, "/ws/logs"))),
      await idleRow(),
    ];
  },
};
