import { dirname, join } from "node:path";
import { makeKey, printKey, systemRandom } from "../../src/domain/keys.ts";
import { load } from "./load.ts";
import { inTurns, median, quantile, residentMegabytes } from "./measure.ts";
import { type Place, rescan, startPlace, startScript } from "./place.ts";
import { lmstatText } from "./shapes.ts";
import { type Bench, compared, figure, type Row } from "./table.ts";

const SERVERS = 200;
const FEATURES = 50;
const CHECKOUTS = 100;
const PATH = "/api/licenses/features";
const SUMMARY = "/api/licenses/summary";
/**
 * Other paths to measure. Their answers are short, so they show the cost of a request and of its
 * parameters.
 */
const OTHERS = [SUMMARY, `${PATH}?server=s7&feature=feature_0001&state=ok&limit=1`, "/metrics"];
const WARM_UP_GUESSES = 50_000;
const GUESSES = 150_000;
const SETTLE_MS = 3_000;
/**
 * FULL keeps a core busy. LIGHT leaves room to see the effect of polls on response times, and runs long enough for a
 * meaningful p99.
 */
const FULL = { connections: 4, seconds: 2, pauseMs: 0 } as const;
const TURNS = 3;
const SHORTEST_INTERVAL_MS = 5_000;
const LIGHT = { path: PATH, connections: 1, seconds: 20, pauseMs: 10 } as const;

/** Returns requests per second of licmond and of a bare server that answers with the same bytes. */
async function besideBare(place: Place, path: string, body: string) {
  const file = join(dirname(place.tool), "body");
  await Bun.write(file, body);
  await using bare = await startScript("bare-server.ts", file);
  const rateOf = async (port: number, key: string) =>
    (await load({ ...FULL, path, port, key })).requestsPerSecond;
  const rates = await inTurns(
    TURNS,
    1,
    () => rateOf(place.port, place.key),
    () => rateOf(bare.port, "none"),
  );
  return { ours: median(rates.ours), baseline: median(rates.baseline) };
}

/** Tries random keys over a few connections. Throws if a key is accepted. */
async function guess({ url }: Place, count: number): Promise<void> {
  let left = count;
  const worker = async () => {
    while (left-- > 0) {
      const headers = { "x-api-key": printKey(makeKey(systemRandom)) };
      const answer = await fetch(`${url}${SUMMARY}`, { headers });
      await answer.arrayBuffer();
      if (answer.status !== 401 && answer.status !== 429)
        throw new Error(`a guessed key got ${answer.status}`);
    }
  };
  await Promise.all(Array.from({ length: 16 }, worker));
}

/** Measures resident MB left by guessed keys in an otherwise idle daemon, after a warm-up. */
async function keptOfGuesses(): Promise<number> {
  await using place = await startPlace({ outputs: [] });
  await guess(place, WARM_UP_GUESSES);
  const before = (await residentMegabytes(place.pid)).own;
  await guess(place, GUESSES);
  await Bun.sleep(SETTLE_MS);
  return (await residentMegabytes(place.pid)).own - before;
}

/** Polls with `next` until `work` ends. Returns the number of polls and the daemon's worst stall. */
async function whilePolling<T>(
  place: Place,
  next: () => Promise<number>,
  work: () => Promise<T>,
): Promise<{ result: T; polls: number; stallMs: number }> {
  let done = false;
  let polls = 0;
  let stallMs = 0;
  const polling = (async () => {
    while (!done) {
      polls += await next();
      if (polls % SERVERS === 0) stallMs = Math.max(stallMs, await stallOf(place));
    }
  })();
  try {
    return { result: await work(), polls, stallMs };
  } finally {
    done = true;
    await polling;
  }
}

/** Polls each server every five seconds, the shortest interval that the config allows. */
function atShortestInterval(place: Place): () => Promise<number> {
  const stepMs = SHORTEST_INTERVAL_MS / SERVERS;
  const under: Promise<void>[] = [];
  const startedAt = performance.now();
  let index = 0;
  return async () => {
    await Bun.sleep(Math.max(0, startedAt + index * stepMs - performance.now()));
    under.push(rescan(place, [`s${index++ % SERVERS}`]));
    // The daemon polls eight servers at the same time, so wait for one of them before starting more.
    if (under.length >= 8) await under.shift();
    return 1;
  };
}

function backToBack(place: Place): () => Promise<number> {
  return async () => {
    await rescan(place);
    return SERVERS;
  };
}

async function stallOf(place: Place): Promise<number> {
  const response = await fetch(`${place.url}/api/status`, { headers: { "X-API-Key": place.key } });
  const text = await response.text();
  const stall = /"eventLoopLagMs":([\d.]+)/.exec(text)?.[1];
  if (stall === undefined) throw new Error(`/api/status has no eventLoopLagMs: ${text.slice(0, 300)}`);
  return Number(stall);
}

export const http: Bench = {
  name: "http",
  what: `GET ${PATH} with ${SERVERS} × ${FEATURES} features, ${SERVERS * CHECKOUTS} checkouts, and short answers, compared with a bare server; idle and while all are polled; guessed keys`,
  async run(): Promise<Row[]> {
    const outputs = Array.from({ length: SERVERS }, (_, index) =>
      lmstatText({ features: FEATURES, checkouts: CHECKOUTS, address: `${27_000 + index}@localhost` }),
    );
    await using place = await startPlace({ outputs });
    await rescan(place);
    const headers = { "X-API-Key": place.key };
    const body = await (await fetch(`${place.url}${PATH}`, { headers })).text();
    const features = body.split('"daemon":').length - 1;
    if (features !== SERVERS * FEATURES) throw new Error(`${features} features in the answer`);

    const rates = await besideBare(place, PATH, body);
    const others: Row[] = [];
    for (const path of OTHERS) {
      const answer = await (await fetch(`${place.url}${path}`, { headers })).text();
      const bound = path === "/metrics" ? null : ({ of: "ratio", atLeast: 0.2 } as const);
      const what = `requests per second, ${path}, compared with bare Bun.serve`;
      others.push(compared(what, await besideBare(place, path, answer), "/s", bound));
    }
    const light = () => load({ ...LIGHT, port: place.port, key: place.key });
    const idle = await light();
    const paced = await whilePolling(place, atShortestInterval(place), light);
    const rushed = await whilePolling(place, backToBack(place), light);
    const rowsOf = (when: string, { result, polls, stallMs }: typeof paced): Row[] => {
      const [ours, baseline] = [result, idle].map(({ latenciesMs }) => quantile(latenciesMs, 0.99));
      const what = `p99 ${when} (${polls} polls), compared with idle`;
      return [
        compared(what, { ours: ours ?? NaN, baseline: baseline ?? NaN }, "ms", { of: "ratio", atMost: 3 }),
        figure("longest stall of the daemon's event loop meanwhile", stallMs, "ms", 50),
      ];
    };

    const megabytes = (body.length / 1e6).toFixed(1);
    const what = `requests per second, ${megabytes} MB each, compared with bare Bun.serve`;
    return [
      compared(what, rates, "/s", { of: "ratio", atLeast: 0.6 }),
      ...others,
      ...rowsOf("while every server is polled each 5 s", paced),
      ...rowsOf("while polls run back to back", rushed),
      figure(`memory that ${GUESSES / 1000},000 guessed keys left`, await keptOfGuesses(), "MB", 10),
    ];
  },
};
