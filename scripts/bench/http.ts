import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeKey, printKey, systemRandom } from "../../src/domain/keys.ts";
import { load } from "./load.ts";
import { median, quantile, residentMegabytes } from "./measure.ts";
import { freePort, type Place, rescan, startPlace, untilAnswers } from "./place.ts";
import { lmstatText } from "./shapes.ts";
import type { Bench, Row } from "./table.ts";

const SERVERS = 200;
const FEATURES = 50;
const CHECKOUTS = 100;
const PATH = "/api/licenses/features";
const SUMMARY = "/api/licenses/summary";
/** Short answers show the cost of a request and of its parameters. */
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

interface BareServer extends AsyncDisposable {
  readonly port: number;
}

/** Starts a bare server of the same bytes in a child process. */
async function startBare(body: string): Promise<BareServer> {
  const folder = await mkdtemp(join(tmpdir(), "licmond-bench-"));
  const port = freePort();
  await Bun.write(join(folder, "body"), body);
  const server = Bun.spawn(
    [process.execPath, join(import.meta.dir, "bare-server.ts"), String(port), join(folder, "body")],
    { stdin: "ignore", stdout: "inherit", stderr: "inherit" },
  );
  const dispose = async () => {
    server.kill();
    await server.exited;
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await untilAnswers(`http://127.0.0.1:${port}/`, () => server.exitCode !== null);
    return { port, [Symbol.asyncDispose]: dispose };
  } catch (cause) {
    await dispose();
    throw cause;
  }
}

/** Measures both servers alternately, so that other load affects both. Returns requests per second. */
async function inTurns(
  place: Place,
  bare: BareServer,
  path: string,
): Promise<{ ours: number; baseline: number }> {
  const rates = { ours: [] as number[], baseline: [] as number[] };
  for (let turn = 0; turn <= TURNS; turn++) {
    const ours = await load({ ...FULL, path, port: place.port, key: place.key });
    const baseline = await load({ ...FULL, path, port: bare.port, key: "none" });
    // The first round warms up.
    if (turn === 0) continue;
    rates.ours.push(ours.requestsPerSecond);
    rates.baseline.push(baseline.requestsPerSecond);
  }
  return { ours: median(rates.ours), baseline: median(rates.baseline) };
}

async function besideBare(
  place: Place,
  path: string,
  body: string,
): Promise<{ ours: number; baseline: number }> {
  await using bare = await startBare(body);
  return await inTurns(place, bare, path);
}

/** Tries random keys over a few connections. Throws if one is accepted. */
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
    // The daemon polls this many servers at the same time.
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
      const what = `requests per second, ${path}, compared with bare Bun.serve`;
      others.push({
        what,
        ...(await besideBare(place, path, answer)),
        unit: "/s",
        bound: path === "/metrics" ? null : { of: "ratio", atLeast: 0.2 },
      });
    }
    const target = { port: place.port, key: place.key };
    const idle = await load({ ...LIGHT, ...target });
    const light = () => load({ ...LIGHT, ...target });
    const paced = await whilePolling(place, atShortestInterval(place), light);
    const rushed = await whilePolling(place, backToBack(place), light);

    const megabytes = (body.length / 1e6).toFixed(1);
    return [
      {
        what: `requests per second, ${megabytes} MB each, compared with bare Bun.serve`,
        ...rates,
        unit: "/s",
        bound: { of: "ratio", atLeast: 0.6 },
      },
      ...others,
      {
        what: `p99 while every server is polled each 5 s (${paced.polls} polls), compared with idle`,
        ours: quantile(paced.result.latenciesMs, 0.99),
        baseline: quantile(idle.latenciesMs, 0.99),
        unit: "ms",
        bound: { of: "ratio", atMost: 3 },
      },
      {
        what: "longest stall of the daemon's event loop meanwhile",
        ours: paced.stallMs,
        baseline: null,
        unit: "ms",
        bound: { of: "ours", atMost: 50 },
      },
      {
        what: `p99 while polls run back to back (${rushed.polls} polls), compared with idle`,
        ours: quantile(rushed.result.latenciesMs, 0.99),
        baseline: quantile(idle.latenciesMs, 0.99),
        unit: "ms",
        bound: { of: "ratio", atMost: 3 },
      },
      {
        what: "longest stall of the daemon's event loop meanwhile",
        ours: rushed.stallMs,
        baseline: null,
        unit: "ms",
        bound: { of: "ours", atMost: 50 },
      },
      {
        what: `memory that ${GUESSES / 1000},000 guessed keys left`,
        ours: await keptOfGuesses(),
        baseline: null,
        unit: "MB",
        bound: { of: "ours", atMost: 10 },
      },
    ];
  },
};
