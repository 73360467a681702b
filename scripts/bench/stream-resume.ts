import { load } from "./load.ts";
import { residentMegabytes } from "./measure.ts";
import { type Place, startPlace } from "./place.ts";
import type { Bench, Row } from "./table.ts";

const EVENTS = 100_000;
const STALLED = 10;
const LONG = "x".repeat(480);

/** Makes the daemon tell events: each request is one, of about 1 KB with the long path. */
async function flood({ url }: Place, count: number, path: string): Promise<void> {
  let left = count;
  const one = async () => {
    while (left-- > 0) await (await fetch(url + path)).arrayBuffer();
  };
  await Promise.all(Array.from({ length: 8 }, one));
}

/** The longest time for which the daemon answered nobody, ms, while the work ran. */
async function longestWait(place: Place, work: Promise<unknown>): Promise<number> {
  let done = false;
  void work.finally(() => {
    done = true;
  });
  let longest = 0;
  while (!done) {
    const { latenciesMs } = await load({
      ...{ port: place.port, key: place.key, path: "/api/ping", connections: 1, seconds: 0.2, pauseMs: 1 },
    });
    longest = Math.max(longest, ...latenciesMs);
  }
  await work;
  return longest;
}

/** Reads all stored events as fast as they come; events a second. */
async function resumeAll({ url, key }: Place): Promise<number> {
  const stop = new AbortController();
  const startedAt = performance.now();
  const response = await fetch(`${url}/stream/logs?events=log&last_event_id=1`, {
    headers: { "X-API-Key": key },
    signal: stop.signal,
  });
  let events = 0;
  const marker = Buffer.from("\nid: ");
  for await (const bytes of response.body ?? []) {
    const chunk = Buffer.from(bytes);
    for (let at = chunk.indexOf(marker); at >= 0; at = chunk.indexOf(marker, at + 1)) events++;
    // A marker cut in two is not counted: a few in a hundred thousand.
    if (events >= EVENTS * 0.99) break;
  }
  stop.abort();
  return (events / (performance.now() - startedAt)) * 1000;
}

/** Connects and reads nothing. */
async function stall({ port, key }: Place): Promise<() => void> {
  const { promise: answered, resolve } = Promise.withResolvers<void>();
  const socket = await Bun.connect({
    hostname: "127.0.0.1",
    port,
    socket: {
      open: (opened) =>
        void opened.write(`GET /stream/logs?events=log HTTP/1.1\r\nHost: x\r\nX-API-Key: ${key}\r\n\r\n`),
      data(opened) {
        opened.pause();
        resolve();
      },
    },
  });
  await answered;
  return () => socket.terminate();
}

/** MB by which the daemon grows at the most for one reader that stops reading while 30 MB pass. */
async function stalledMegabytes(place: Place): Promise<number> {
  // The requests that make the events cost memory too, up and down by 10 MB: several readers stand out.
  await flood(place, 30_000, `/api/${LONG}`);
  const before = await residentMegabytes(place.pid);
  const ends = await Promise.all(Array.from({ length: STALLED }, () => stall(place)));
  let peak = before.own;
  const timer = setInterval(async () => {
    peak = Math.max(peak, (await residentMegabytes(place.pid)).own);
  }, 20);
  await flood(place, 30_000, `/api/${LONG}`);
  clearInterval(timer);
  for (const end of ends) end();
  return (peak - before.own) / STALLED;
}

export const streamResume: Bench = {
  name: "stream-resume",
  what: `a resume of ${EVENTS} stored events, and readers that stop reading while 30 MB pass`,
  async run(): Promise<Row[]> {
    await using place = await startPlace({ outputs: [], logLevel: "debug", streams: 100 });
    await flood(place, EVENTS, "/api/ping");
    const idleMs = await longestWait(place, Bun.sleep(2_000));
    let rate = 0;
    const stallMs = await longestWait(
      place,
      resumeAll(place).then((result) => {
        rate = result;
      }),
    );
    return [
      {
        what: `resume of ${EVENTS} stored events`,
        ...{ ours: rate, baseline: null, unit: "events/s", bound: { of: "ours", atLeast: 50_000 } },
      },
      {
        what: "longest wait for a ping meanwhile, beside a quiet daemon",
        ...{ ours: stallMs, baseline: idleMs, unit: "ms", bound: { of: "ours", atMost: 20 } },
      },
      {
        what: "growth for a stalled reader while 30 MB pass",
        ...{
          ours: await stalledMegabytes(place),
          baseline: null,
          unit: "MB",
          bound: { of: "ours", atMost: 5 },
        },
      },
    ];
  },
};
