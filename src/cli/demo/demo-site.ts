import { appendFileSync, mkdirSync, statSync, utimesSync } from "node:fs";
import { dirname, join } from "node:path";
import { createDenialWatch } from "../../collector/log-tail/denial-watch.ts";
import { buildConfig } from "../../config/config.ts";
import type { Log } from "../../domain/log.ts";
import type { ServerPicture } from "../../domain/picture.ts";
import type { PollOutcome } from "../../domain/poll.ts";
import { applyPoll } from "../../domain/polls/apply-poll.ts";
import { shuffle, type Tracked } from "../../domain/polls/track-sessions.ts";
import type { MonitoredServer } from "../../domain/server.ts";
import { DAY_MS, HOUR_MS } from "../../domain/time/clock.ts";
import { hostZone } from "../../domain/time/zone.ts";
import { createHistory } from "../../history/history.ts";
import { createTracker } from "../../live/sessions.ts";
import { managerOf } from "../../managers/registry.ts";
import { createSimulatedLog } from "../../simulator/debug-log.ts";
import { SERVERS } from "../../simulator/servers.ts";
import { createSite, type Site } from "../../simulator/site.ts";
import type { ServerSpec } from "../../simulator/spec.ts";
import { createDenialSources, createDenials } from "../../store/denials.ts";
import { openStore, type Store } from "../../store/open/open.ts";
import { createPictures } from "../../store/pictures.ts";
import { createServers } from "../../store/servers.ts";
import { outcomeOf } from "../parse.ts";

export type DemoSite = ReturnType<typeof demoSite>;

/** Options of a demo site. `interval` is the time between two polls of a server, e.g. `10s`. */
export interface SiteOptions extends Readonly<Record<"host" | "directory" | "interval", string>> {
  readonly port: number;
  readonly seed: number;
  /** Ids of the site's simulated servers; default: all. */
  readonly servers?: readonly string[];
  readonly more?: object;
}

/** Builds the config of a site with simulated servers, which are polled through `licmond simulate`. */
export function demoSite(options: SiteOptions, ahead: number) {
  const { host, port, directory, interval, seed, servers: ids, more } = options;
  const timezone = hostZone();
  const chosen = SERVERS.filter(({ id }) => ids?.includes(id) ?? true);
  const servers = chosen.map(({ id, name, manager, address, labels, debugLog }) => {
    const site = [`--server=${id}`, `--seed=${seed}`, `--timezone=${timezone}`, `--ahead=${ahead}`];
    const tool = [...ownProgram(), "simulate", manager, ...site];
    const log = debugLog ? { log_file: join(directory, "simulated-logs", `${id}.log`) } : {};
    return { id, name, manager, address, labels: { ...labels }, timezone, tool, ...log };
  });
  // Poll all servers at once: users watch the first polls.
  const collector = { interval, concurrency: servers.length };
  const settings = { http: { host, port }, storage: { directory }, collector, servers, products: PRODUCTS };
  const config = buildConfig({ ...settings, ...more }, {});
  return { config, site: createSite({ seed, zone: timezone, ahead }) };
}

const PRODUCTS = [
  { name: "LogicSim", features: ["eda/*/LogicSim_*"], cost_per_seat_year: 9_800, currency: "EUR" },
  { name: "Simulation", features: ["cae/*/*", "remote/*/*"], cost_per_seat_year: 6_400, currency: "EUR" },
];

/** Returns the argv prefix that runs this program: the binary, or Bun with the source. */
export function ownProgram(): readonly string[] {
  const source = Bun.isStandaloneExecutable ? [] : [join(import.meta.dir, "../main.ts")];
  return [process.execPath, ...source];
}

function specOf(id: string): ServerSpec {
  const spec = SERVERS.find((one) => one.id === id);
  if (spec === undefined) throw new Error(`unknown simulated server ${id}`);
  return spec;
}

/**
 * Maximum length of the log that is written after a pause. If the pause was longer, the logs have a gap,
 * because half a year of lines would take too long.
 */
const LONGEST_MS = 35 * DAY_MS;

/**
 * Creates the debug logs of the simulated servers. Missing logs start at `begin`, epoch ms. Each call of
 * the returned function appends the time since the last call, which may have been in an earlier process.
 * Throws file system errors.
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
      // Store in the file's mtime how far the log is written. The next process continues there.
      utimesSync(one.path, until / 1000, until / 1000);
      one.to = until;
    }
  };
}

/** Returns how far a log is written, epoch ms. Creates a missing log. */
function writtenUpTo(path: string, begin: number): number {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found !== undefined) return Math.round(found.mtimeMs);
  const start = Math.floor(begin / 1000) * 1000;
  appendFileSync(path, "");
  utimesSync(path, start / 1000, start / 1000);
  return start;
}

/** Time between two polls of the generated history. Shorter intervals only take longer to generate. */
const INTERVAL_MS = 600_000;
const ROUNDS = 6;
const POLL_MS = 40;

/**
 * Fills an empty directory with the simulated history of the days until `now` (epoch ms). Simulated readings take the
 * path of real polls, without spawning tools. `progress` gets a share, 0–1, and returns whether to continue. Throws
 * StoreError.
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

    // Find past denials with the daemon's own watch, which reads logs that grow hour by hour.
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
      // Publish no events for the past.
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
        // Start the watch now, because it skips lines that exist when it first looks.
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
      // Yield to Ctrl-C and the progress bar.
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
  const { manager, address, tool } = server;
  return outcomeOf(server, managerOf(manager), address, tool ?? [], new Uint8Array(0), reading, at, POLL_MS);
}

interface BackFillDeps {
  readonly store: Store;
  readonly servers: readonly MonitoredServer[];
  readonly log: Log;
  /** Changes the order of new session ids, as in `createLive`. */
  readonly orderIds?: (ids: number[]) => number[];
  /**
   * Stores data that belongs to the pictures of a round. Called after each round, before its hours are
   * packed.
   */
  readonly looked?: (pictures: readonly ServerPicture[], now: number) => Promise<void>;
}

function hasHistory({ read, sqlite }: Pick<Store, "read" | "sqlite">): boolean {
  return read(() => sqlite.query("SELECT 1 FROM coverage LIMIT 1").get() !== null);
}

/** Processes past polls as the daemon processes polls (counts, sessions, rollups), but without events. */
function createBackFill({ store, servers, log, orderIds, looked }: BackFillDeps) {
  // The time is that of the last poll, so an hour ends once the polls have passed it.
  const clock = { time: 0, now: () => clock.time };
  const history = createHistory({ store, clock, log, timers: { after: () => () => {} } });
  const tracker = createTracker(store, orderIds);
  const pictures = new Map<string, ServerPicture>();
  const known = new Map(servers.map((server) => [server.id, server]));
  let packedAt = 0;

  return {
    async take(outcomes: readonly PollOutcome[]): Promise<void> {
      const [first] = outcomes;
      if (first === undefined) return;
      if (packedAt === 0) {
        clock.time = first.finishedAt;
        packedAt = clock.time;
        createServers({ store, clock }).configured(servers);
      }
      const polls: Tracked[] = [];
      for (const outcome of outcomes) {
        const { serverId } = outcome;
        const server = known.get(serverId);
        if (server === undefined) throw new Error(`A poll of a server that is not configured: ${serverId}`);
        const tracked = await tracker.track(applyPoll(pictures.get(serverId) ?? null, server, outcome, null));
        // Compare the next poll with this one even before the commit. This is safe, because a failed
        // transaction ends the whole run.
        tracker.committed(serverId, tracked);
        pictures.set(serverId, tracked.picture);
        polls.push(tracked);
        clock.time = outcome.finishedAt;
      }
      store.transaction(() => {
        for (const { picture, changes } of polls) {
          tracker.write(changes);
          const recording = history.recorder.look(picture);
          recording.write(changes.opened);
          recording.committed();
        }
      });
      const round = polls.map(({ picture }) => picture);
      await looked?.(round, clock.time);
      if (clock.time - packedAt < HOUR_MS) return;
      history.packAll();
      packedAt = clock.time;
    },

    /** Packs the rest and stores the last pictures, so that the daemon continues from them. */
    async finish(): Promise<void> {
      history.packAll();
      const stored = createPictures(store, clock, log);
      const rows = await Promise.all([...pictures.values()].map(stored.rowOf));
      store.transaction(() => rows.forEach(stored.write));
    },
  };
}
