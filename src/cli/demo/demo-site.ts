import { appendFileSync, mkdirSync, statSync, utimesSync } from "node:fs";
import { dirname, join } from "node:path";
import { createDenialWatch } from "../../collector/log-tail/denial-watch.ts";
import { buildConfig } from "../../config/config.ts";
import type { Log } from "../../domain/log.ts";
import type { PollOutcome } from "../../domain/poll.ts";
import { shuffle } from "../../domain/polls/track-sessions.ts";
import type { MonitoredServer } from "../../domain/server.ts";
import { DAY_MS } from "../../domain/time/clock.ts";
import { hostZone } from "../../domain/time/zone.ts";
import { createBackFill, hasHistory } from "../../live/back-fill.ts";
import { managerOf } from "../../managers/registry.ts";
import { createSimulatedLog } from "../../simulator/debug-log.ts";
import { SERVERS } from "../../simulator/servers.ts";
import { createSite, type Site } from "../../simulator/site.ts";
import type { ServerSpec } from "../../simulator/spec.ts";
import { createDenialSources, createDenials } from "../../store/denials.ts";
import { openStore } from "../../store/open/open.ts";
import { outcomeOf } from "../parse.ts";

/** The site that a demo shows. */
export type DemoSite = ReturnType<typeof demoSite>;

/** What a demo shows and where; `interval` is the time between two polls of a server, e.g. `10s`. */
export interface SiteOptions extends Readonly<Record<"host" | "directory" | "interval", string>> {
  readonly port: number;
  readonly seed: number;
  /** Ids of the simulated servers that the site has; absent: all. */
  readonly servers?: readonly string[];
  /** More sections of the config. */
  readonly more?: object;
}

/** The config that a file of this content would give: simulated servers, asked through `licmond simulate`. */
export function demoSite(
  { host, port, directory, interval, seed, servers: ids, more }: SiteOptions,
  ahead: number,
) {
  const timezone = hostZone();
  const chosen = SERVERS.filter(({ id }) => ids?.includes(id) ?? true);
  const servers = chosen.map(({ id, name, manager, address, labels, debugLog }) => {
    const site = [`--server=${id}`, `--seed=${seed}`, `--timezone=${timezone}`, `--ahead=${ahead}`];
    const tool = [...ownProgram(), "simulate", manager, ...site];
    const log = debugLog ? { log_file: join(directory, "simulated-logs", `${id}.log`) } : {};
    return { id, name, manager, address, labels: { ...labels }, timezone, tool, ...log };
  });
  const config = buildConfig(
    {
      http: { host, port },
      storage: { directory },
      // All at once: people look at the first polls.
      collector: { interval, concurrency: servers.length },
      servers,
      products: PRODUCTS,
      ...more,
    },
    {},
  );
  return { config, site: createSite({ seed, zone: timezone, ahead }) };
}

const PRODUCTS = [
  { name: "LogicSim", features: ["eda/*/LogicSim_*"], cost_per_seat_year: 9_800, currency: "EUR" },
  { name: "Simulation", features: ["cae/*/*", "remote/*/*"], cost_per_seat_year: 6_400, currency: "EUR" },
];

/** argv prefix that runs this very program: the binary, or Bun with the source. */
export function ownProgram(): readonly string[] {
  return Bun.isStandaloneExecutable
    ? [process.execPath]
    : [process.execPath, join(import.meta.dir, "../main.ts")];
}

function specOf(id: string): ServerSpec {
  const spec = SERVERS.find((one) => one.id === id);
  if (spec === undefined) throw new Error(`There is no simulated server ${id}`);
  return spec;
}

/** After a longer pause the log has a gap: half a year of lines would take too long to write. */
const LONGEST_MS = 35 * DAY_MS;

/**
 * The debug logs of the simulated servers, as vendor daemons write them; those that are not there begin at `begin`, epoch
 * ms. Each call of the answer appends what has happened since the last one, also since that of an earlier process, and
 * throws the file system's error.
 */
export function createDemoLogs({ config, site }: DemoSite, begin: number): (now: number) => void {
  const logs = config.servers.flatMap(({ id, logFile }) => {
    if (logFile === null) return [];
    mkdirSync(dirname(logFile), { recursive: true });
    return [{ path: logFile, log: createSimulatedLog(site, specOf(id)), to: writtenUpTo(logFile, begin) }];
  });
  return (now) => {
    const until = Math.floor(now / 1000) * 1000;
    for (const one of logs) {
      if (until <= one.to) continue;
      const text = one.log(Math.max(one.to, until - LONGEST_MS), until);
      if (text !== "") appendFileSync(one.path, text);
      // The time of the file says how far it is written: the next process goes on from there.
      utimesSync(one.path, until / 1000, until / 1000);
      one.to = until;
    }
  };
}

/** How far a log is written, epoch ms; makes an empty one where there is none. */
function writtenUpTo(path: string, begin: number): number {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found !== undefined) return Math.round(found.mtimeMs);
  const start = Math.floor(begin / 1000) * 1000;
  appendFileSync(path, "");
  utimesSync(path, start / 1000, start / 1000);
  return start;
}

/** Between two polls of the past: finer ones would only take longer to make. */
const INTERVAL_MS = 600_000;
/** Rounds of polls stored together. */
const ROUNDS = 6;
const POLL_MS = 40;

/**
 * Fills a fresh directory with what the simulated servers would have said in the days until `now` (epoch ms): readings
 * of the simulator on the way that every poll takes, without a tool to spawn. `progress` gets how much is done, 0–1, and
 * answers whether to go on. Throws StoreError.
 */
export async function makeDemoHistory(
  { config, site }: DemoSite,
  days: number,
  now: number,
  log: Log,
  progress: (done: number) => boolean,
): Promise<"made" | "there already" | "broken off"> {
  const store = openStore({ directory: config.storage.directory, log });
  try {
    if (hasHistory(store)) return "there already";
    const servers = config.servers.map((server): MonitoredServer => ({ ...server, intervalMs: INTERVAL_MS }));
    const begun = now - days * DAY_MS;
    const writeLogs = createDemoLogs({ config, site }, begun);

    // Denials of the past are seen by the daemon's own watch, over logs that grow hour by hour.
    let time = 0;
    let readLogs = () => {};
    const denials = createDenialWatch({
      denials: createDenials(store),
      sources: createDenialSources(store),
      servers,
      log,
      clock: { now: () => time },
      timers: {
        after(_, run) {
          readLogs = run;
          return () => {};
        },
      },
      // The past is published in no event.
      commit: async (work) => void store.transaction(() => work()),
    });
    const fill = createBackFill({
      store,
      servers,
      log,
      orderIds: (ids) => shuffle(ids, Math.random),
      async looked(pictures, instant) {
        const isFirst = time === 0;
        time = instant;
        for (const picture of pictures) denials.polled(picture);
        // What stands in a log at the first look is history, and is not read.
        if (isFirst) denials.start();
        else {
          writeLogs(instant);
          readLogs();
        }
        await denials.idle();
      },
    });

    for (let at = begun; at <= now; ) {
      const outcomes: PollOutcome[] = [];
      for (let round = 0; round < ROUNDS && at <= now; round++, at += INTERVAL_MS) {
        for (const server of servers) outcomes.push(pollAt(site, server, at));
      }
      await fill.take(outcomes);
      // Ctrl-C and the progress bar get the event loop.
      await new Promise<void>((resume) => setImmediate(resume));
      if (!progress((at - begun) / (days * DAY_MS))) return "broken off";
    }
    await denials.stop();
    await fill.finish();
    return "made";
  } finally {
    store.close();
  }
}

function pollAt(site: Site, server: MonitoredServer, at: number): PollOutcome {
  const reading = site.reading(specOf(server.id), at);
  return outcomeOf(
    server,
    managerOf(server.manager),
    server.address,
    server.tool ?? [],
    new Uint8Array(0),
    reading,
    at,
    POLL_MS,
  );
}
