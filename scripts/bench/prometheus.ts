import type { ServerPicture, Snapshot } from "../../src/domain/picture.ts";
import { applyPoll } from "../../src/domain/polls/apply-poll.ts";
import type { MonitoredServer } from "../../src/domain/server.ts";
import { createExposition } from "../../src/export/exposition.ts";
import { createWriter } from "../../src/export/remote-write/writer.ts";
import { zipped } from "../../src/http/answers/answer.ts";
import { featureRecord } from "../../src/http/records.ts";
import { flexnet } from "../../src/managers/flexnet/index.ts";
import { createKnownHosts } from "../../src/managers/manager.ts";
import { readOutputSync } from "../../src/managers/read-output.ts";
import { longestStall, median, medianTimes } from "./measure.ts";
import { rescan, startPlace } from "./place.ts";
import { INSTANT, lmstatText } from "./shapes.ts";
import type { Bench, Row } from "./table.ts";

const FEATURES = 5_000;
const SERVERS = 200;
const ROUNDS = 7;
const STALLS = 5;

const nothing = () => {};

/** Pictures of so many servers that share the features. */
function snapshotOf(servers: number): Snapshot {
  const features = FEATURES / servers;
  const text = new TextEncoder().encode(lmstatText({ features, checkouts: 2 * features }));
  const known = createKnownHosts();
  const reading = readOutputSync(
    text,
    flexnet.createParser({ zone: "UTC", now: INSTANT, knownHosts: known }),
  );
  if (reading.features.length !== features) throw new Error(`${reading.features.length} features were read`);
  return {
    version: 1,
    servers: Array.from({ length: servers }, (_, index): ServerPicture => {
      const server: MonitoredServer = {
        id: `s${index}`,
        name: `s${index}`,
        manager: "flexnet",
        address: "27000@localhost",
        tool: null,

        timezone: "UTC",
        intervalMs: 60_000,
        timeoutMs: 30_000,
        enabled: true,
        labels: {},
        secretFile: null,
        caFile: null,
        encoding: null,
        logFile: null,
        logCommand: null,
      };
      return applyPoll(
        null,
        server,
        {
          serverId: server.id,
          startedAt: INSTANT,
          finishedAt: INSTANT,
          durationMs: 100,
          reading,

          error: null,
          reachability: [],
          quorum: 1,
          raw: {
            argv: [],
            exitCode: 0,
            signal: null,
            truncated: false,

            stdout: new Uint8Array(),
            stderr: new Uint8Array(),
          },
        },
        null,
      );
    }),
  };
}

/** The same numbers as the API tells them, made anew. */
function asJson({ servers }: Snapshot): string {
  const rows = servers.flatMap(({ server, features }) =>
    features.map((feature) => featureRecord(server, feature)),
  );
  return JSON.stringify({ features: rows });
}

/** The longest stall of several goes; the first of all warms up. */
async function stallOf(work: () => Promise<unknown>): Promise<number> {
  const stalls: number[] = [];
  for (let round = 0; round <= STALLS; round++) {
    const stall = await longestStall(work);
    if (round > 0) stalls.push(stall);
  }
  return Math.max(...stalls);
}

/** One gathering of the writer, sent to nobody. */
async function pushed(snapshot: Snapshot): Promise<void> {
  const { promise: done, resolve } = Promise.withResolvers<void>();
  let sent = 0;
  const quiet = { debug: nothing, info: nothing, warn: nothing, error: nothing };
  const writer = createWriter({
    snapshot: () => snapshot,
    service: nothing,
    clock: { now: Date.now },
    random: Math.random,
    log: quiet,
    timers: {
      after(ms, run) {
        // The next gathering means that this one is over.
        if (sent > 0) resolve();
        const timer = setTimeout(run, ms);
        return () => clearTimeout(timer);
      },
    },
    post: () => {
      sent++;
      return Promise.resolve({ outcome: "taken" });
    },
  });
  const target = { url: "http://127.0.0.1/", username: null, tokenFile: null };
  writer.configure({ ...target, intervalMs: 3_600_000, labels: [["job", "bench"]] });
  await done;
  await writer.stop();
}

interface OverHttp extends Record<"cold" | "warm", { ours: number; baseline: number }> {
  /** A scrape as Prometheus asks for it, beside one of the same bytes as they are. */
  readonly zipped: { readonly ours: number; readonly baseline: number };
  readonly bytes: { readonly plain: number; readonly zipped: number };
}

async function timesOverHttp(): Promise<OverHttp> {
  const features = FEATURES / SERVERS;
  const outputs = Array.from({ length: SERVERS }, (_, index) =>
    lmstatText({ features, checkouts: 2 * features, address: `${27_000 + index}@localhost` }),
  );
  await using place = await startPlace({ outputs });
  const bytes = { plain: 0, zipped: 0 };
  const ask = async (path: string, encoding = "identity"): Promise<number> => {
    const startedAt = performance.now();
    const headers = { "X-API-Key": place.key, "Accept-Encoding": encoding };
    const response = await fetch(place.url + path, { headers, decompress: false });
    const { byteLength } = await response.bytes();
    const took = performance.now() - startedAt;
    const isZipped = response.headers.get("content-encoding") === "gzip";
    if (!response.ok || isZipped !== (encoding === "gzip") || (!isZipped && byteLength < FEATURES * 100))
      throw new Error(`${path}: ${response.status}, ${byteLength}`);
    if (path === "/metrics") bytes[isZipped ? "zipped" : "plain"] = byteLength;
    return took;
  };
  const times = {
    cold: { ours: [0], baseline: [0] },
    warm: { ours: [0], baseline: [0] },
    zipped: { ours: [0], baseline: [0] },
  };
  for (let round = 0; round <= ROUNDS; round++) {
    await rescan(place);
    for (const kind of ["cold", "warm"] as const) {
      const [ours, baseline] = [await ask("/metrics"), await ask("/api/licenses/features")];
      if (round === 0) continue;
      times[kind].ours[round - 1] = ours;
      times[kind].baseline[round - 1] = baseline;
    }
    const [ours, baseline] = [await ask("/metrics", "gzip"), await ask("/metrics")];
    if (round === 0) continue;
    times.zipped.ours[round - 1] = ours;
    times.zipped.baseline[round - 1] = baseline;
  }
  const medians = ({ ours, baseline }: { ours: number[]; baseline: number[] }) => ({
    ours: median(ours),
    baseline: median(baseline),
  });
  return { cold: medians(times.cold), warm: medians(times.warm), zipped: medians(times.zipped), bytes };
}

export const prometheus: Bench = {
  name: "prometheus",
  what: `${FEATURES} features as Prometheus is told them, scraped and pushed, beside their JSON`,
  async run(): Promise<Row[]> {
    const one = snapshotOf(1);
    const many = snapshotOf(SERVERS);
    const anew = (snapshot: Snapshot) => createExposition().render(snapshot, nothing, "text");
    const whole = await anew(many);
    const { byteLength } = whole;
    const kept = createExposition();
    const [text = Number.NaN, json = Number.NaN, again = Number.NaN] = await medianTimes(ROUNDS, [
      () => anew(many),
      () => asJson(many),
      () => kept.render(many, nothing, "text"),
    ]);
    const http = await timesOverHttp();
    const stall = (what: string, ours: number): Row => ({
      what,
      ours,
      baseline: null,
      unit: "ms",
      bound: { of: "ours", atMost: 20 },
    });
    const megabytes = (byteLength / 1e6).toFixed(1);
    return [
      {
        what: `all lines anew, ${megabytes} MB, in slices, beside the features' JSON at once`,

        ours: text,
        baseline: json,
        unit: "ms",
        bound: null,
      },
      { what: "… where no server was polled since", ours: again, baseline: json, unit: "ms", bound: null },
      {
        what: "GET /metrics after every server was polled, beside JSON",
        ...http.cold,
        unit: "ms",
        bound: null,
      },
      { what: "GET /metrics again, beside JSON kept whole", ...http.warm, unit: "ms", bound: null },
      {
        what: `GET /metrics gzipped, ${Math.round(http.bytes.zipped / 1000)} of ${Math.round(http.bytes.plain / 1000)} kB, beside as it is`,
        ...http.zipped,
        unit: "ms",
        bound: null,
      },
      {
        what: "longest stall: gzipping a scrape",
        ours: await stallOf(() => zipped({ body: whole, headers: {} })),
        baseline: null,
        unit: "ms",
        bound: { of: "ours", atMost: 10 },
      },
      stall(`longest stall: a scrape, ${SERVERS} servers`, await stallOf(() => anew(many))),
      stall("longest stall: a scrape, all on one server", await stallOf(() => anew(one))),
      stall(`longest stall: a push, ${SERVERS} servers`, await stallOf(() => pushed(many))),
      stall("longest stall: a push, all on one server", await stallOf(() => pushed(one))),
    ];
  },
};
