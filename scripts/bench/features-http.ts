import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type LoadOptions, type LoadResult, load } from "./load.ts";
import { quantile } from "./measure.ts";
import { freePort, type Place, rescan, startPlace, untilAnswers } from "./place.ts";
import { lmstatText } from "./shapes.ts";
import type { Bench, Row } from "./table.ts";

const SERVERS = 200;
const FEATURES = 50;
const CHECKOUTS = 100;
const PATH = "/api/licenses/features";
/** The load that fills a core, and the one that leaves room to see what polls do to an answer's time. */
const FULL = { path: PATH, connections: 4, seconds: 6, pauseMs: 0 } as const;
const LIGHT = { path: PATH, connections: 1, seconds: 8, pauseMs: 10 } as const;

/** A bare server of the same bytes, loaded the same way. */
async function bare(body: string, options: Omit<LoadOptions, "port" | "key">): Promise<LoadResult> {
  const folder = await mkdtemp(join(tmpdir(), "licmond-bench-"));
  const port = freePort();
  await Bun.write(join(folder, "body"), body);
  const server = Bun.spawn(
    [process.execPath, join(import.meta.dir, "bare-server.ts"), String(port), join(folder, "body")],
    { stdin: "ignore", stdout: "inherit", stderr: "inherit" },
  );
  try {
    await untilAnswers(`http://127.0.0.1:${port}/`, () => server.exitCode !== null);
    return await load({ ...options, port, key: "none" });
  } finally {
    server.kill();
    await server.exited;
    await rm(folder, { recursive: true, force: true });
  }
}

/** Polls all servers again and again until the work is done; how many rounds that were, and the daemon's worst stall. */
async function whilePolling<T>(
  place: Place,
  work: () => Promise<T>,
): Promise<{ result: T; rounds: number; stallMs: number }> {
  let done = false;
  let rounds = 0;
  let stallMs = 0;
  const polling = (async () => {
    while (!done) {
      await rescan(place);
      rounds++;
      stallMs = Math.max(stallMs, await stallOf(place));
    }
  })();
  try {
    return { result: await work(), rounds, stallMs };
  } finally {
    done = true;
    await polling;
  }
}

async function stallOf(place: Place): Promise<number> {
  const response = await fetch(`${place.url}/api/status`, { headers: { "X-API-Key": place.key } });
  const text = await response.text();
  const stall = /"eventLoopLagMs":([\d.]+)/.exec(text)?.[1];
  if (stall === undefined) throw new Error(`/api/status tells no eventLoopLagMs: ${text.slice(0, 300)}`);
  return Number(stall);
}

export const featuresHttp: Bench = {
  name: "features-http",
  what: `GET ${PATH} with ${SERVERS} × ${FEATURES} features, ${SERVERS * CHECKOUTS} checkouts, beside a bare server; at rest and while all are polled`,
  async run(): Promise<Row[]> {
    const outputs = Array.from({ length: SERVERS }, (_, index) =>
      lmstatText({ features: FEATURES, checkouts: CHECKOUTS, address: `27000@s${index}.example.com` }),
    );
    await using place = await startPlace({ outputs });
    await rescan(place);
    const headers = { "X-API-Key": place.key };
    const body = await (await fetch(`${place.url}${PATH}`, { headers })).text();
    const features = body.split('"daemon":').length - 1;
    if (features !== SERVERS * FEATURES) throw new Error(`${features} features in the answer`);

    const target = { port: place.port, key: place.key };
    await load({ ...FULL, ...target, seconds: 1 });
    const full = await load({ ...FULL, ...target });
    const base = await bare(body, FULL);
    const idle = await load({ ...LIGHT, ...target });
    const { result: busy, rounds, stallMs } = await whilePolling(place, () => load({ ...LIGHT, ...target }));

    const megabytes = (body.length / 1e6).toFixed(1);
    return [
      {
        what: `requests a second, ${megabytes} MB each, beside bare Bun.serve`,
        ours: full.requestsPerSecond,
        baseline: base.requestsPerSecond,
        unit: "/s",
        bound: { of: "ratio", atLeast: 0.6 },
      },
      {
        what: `p99 while ${rounds} × ${SERVERS} polls run, beside idle`,
        ours: quantile(busy.latenciesMs, 0.99),
        baseline: quantile(idle.latenciesMs, 0.99),
        unit: "ms",
        bound: { of: "ratio", atMost: 3 },
      },
      {
        what: "longest stall of the daemon's event loop meanwhile",
        ours: stallMs,
        baseline: null,
        unit: "ms",
        bound: { of: "ours", atMost: 50 },
      },
    ];
  },
};
