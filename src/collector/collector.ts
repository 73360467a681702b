import { ApiError } from "../domain/errors.ts";
import type { Log } from "../domain/log.ts";
import type { ServerPicture } from "../domain/picture.ts";
import type { PollOutcome, PollRaw } from "../domain/poll.ts";
import type { MonitoredServer } from "../domain/server.ts";
import type { Clock, Timers } from "../domain/time/clock.ts";
import {
  awaitRescan,
  createPollCounter,
  kept,
  logOutage,
  type PolledServer,
  type RescanRow,
} from "./outcomes.ts";
import { firstDelayMs, isInPace, nextPollTime } from "./pace.ts";
import { failedInside } from "./poll.ts";

export interface CollectorDeps {
  readonly servers: readonly MonitoredServer[];
  /** Polls at once, at least 1. */
  readonly concurrency: number;
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly timers: Timers;
  readonly log: Log;
  readonly poll: (server: MonitoredServer, signal: AbortSignal) => Promise<PollOutcome>;
  /** Keeps an outcome and answers what its server looks like now. `nextPollAt` is epoch ms. */
  readonly record: (outcome: PollOutcome, nextPollAt: number) => Promise<ServerPicture>;
  /** A server is gone or is another one now: what was learnt of it is void. */
  readonly forget: (serverId: string) => void;
  /** Whether a server's tool ran into its timeout in the last poll before the start. */
  readonly hungBefore: (server: MonitoredServer) => boolean;
}

export type Collector = ReturnType<typeof createCollector>;
export type CollectorStatus = ReturnType<Collector["status"]>;

/**
 * Share of the places that slow polls have together. The other three quarters always turn over quickly: 30 hanging
 * tools of 50 would otherwise hold all 8 places for two minutes at a time.
 */
const SLOW_SHARE = 0.25;

/** What is known of a server that was never polled. */
const UNPOLLED = {
  /** Failed polls in a row, and since when, epoch ms. */
  failures: 0,
  failingSince: null as number | null,
  last: null as { readonly startedAt: number; readonly finishedAt: number } | null,
  /** Start of the last poll, also of one that runs. */
  askedAt: null as number | null,
  /** The last poll ran into its timeout, whatever its output was good for: the next one may hold its place as long. */
  hangs: false,
  /** Null while it is polled, and when it never will be. */
  nextPollAt: null as number | null,
  raw: (async () => null) as () => Promise<PollRaw | null>,
};

type Entry = typeof UNPOLLED & {
  server: MonitoredServer;
  /** The poll that waits or runs; every caller meanwhile joins it. */
  flight: Flight | null;
  cancelTimer: () => void;
};

interface Flight {
  readonly entry: Entry;
  readonly slow: boolean;
  readonly done: PromiseWithResolvers<PolledServer>;
  /** Settles when nothing of it runs any more; null while it waits for a place. Never rejects. */
  landed: Promise<void> | null;
  calledOff: boolean;
  /** Ends the tool that runs. */
  abort: AbortController;
}

/** Polls every enabled server at its interval: one poll a server, `concurrency` in all. */
export function createCollector(deps: CollectorDeps) {
  const { concurrency, clock, random, timers, log, poll, record, forget, hungBefore } = deps;
  const slowPlaces = Math.max(1, Math.floor(concurrency * SLOW_SHARE));
  const urgentLane = new Set<Flight>();
  const lane = new Set<Flight>();
  const places = new Set<Flight>();
  /** By server: called-off flights that are not down yet. */
  const landing = new Map<string, Promise<void>>();
  const counter = createPollCounter();
  let entries = new Map(deps.servers.map((server) => [server.id, entryOf(server, hungBefore(server))]));
  let state: "idle" | "started" | "stopped" = "idle";

  /** Joins the server's flight, waiting or running, or queues one. Urgent ones go ahead of all others. */
  function launch(entry: Entry, urgent: boolean): Promise<PolledServer> {
    const flight = entry.flight ?? createFlight(entry);
    const isNew = entry.flight === null;
    entry.flight = flight;
    // A running poll has set its next time already, or will.
    if (flight.landed === null) unschedule(entry);
    if (isNew || (urgent && lane.delete(flight))) (urgent ? urgentLane : lane).add(flight);
    fillPlaces();
    return flight.done.promise;
  }

  function fillPlaces(): void {
    while (places.size < concurrency) {
      const isSlowFull = [...places].filter(({ slow }) => slow).length >= slowPlaces;
      const flight = [...urgentLane, ...lane].find(({ slow }) => !(slow && isSlowFull));
      if (flight === undefined) return;
      urgentLane.delete(flight);
      lane.delete(flight);
      places.add(flight);
      flight.landed = fly(flight);
    }
  }

  function freePlace(flight: Flight): void {
    if (places.delete(flight)) fillPlaces();
  }

  async function fly(flight: Flight): Promise<void> {
    const { entry, done } = flight;
    try {
      // The server may have been taken out of the config and put back while its tool dies.
      await landing.get(entry.server.id);
      const outcome = await pollAsConfigured(flight);
      // The tool has ended: the next one may start while this outcome is stored.
      freePlace(flight);
      done.resolve({ outcome, picture: await keep(entry, outcome) });
    } catch (error) {
      done.reject(error);
    }
    if (!flight.calledOff) {
      entry.flight = null;
      // Changed while its outcome was recorded: `replace` took its next time away.
      schedule(entry, entry.nextPollAt ?? clock.now());
    }
    freePlace(flight);
  }

  /** Polls, and once more when the config changed the server under the running poll. */
  async function pollAsConfigured(flight: Flight): Promise<PollOutcome> {
    const { entry } = flight;
    while (!flight.calledOff) {
      const { server } = entry;
      const startedAt = clock.now();
      entry.askedAt = startedAt;
      flight.abort = new AbortController();
      const outcome = await poll(server, flight.abort.signal).catch((error: unknown) => {
        log.error("poll failed inside licmond", { server: server.id, error: String(error) });
        return failedInside(server.id, startedAt, clock.now());
      });
      if (!flight.calledOff && queryOf(server) === queryOf(entry.server)) return outcome;
    }
    throw new Error("called off");
  }

  async function keep(entry: Entry, outcome: PollOutcome): Promise<ServerPicture> {
    const { startedAt, finishedAt, durationMs, error } = outcome;
    logOutage(log, outcome, entry.failingSince);
    entry.failures = error === null ? 0 : entry.failures + 1;
    entry.failingSince = error === null ? null : (entry.failingSince ?? startedAt);
    entry.last = { startedAt, finishedAt };
    entry.hangs = durationMs >= entry.server.timeoutMs;
    entry.nextPollAt = nextPollTime(entry.server, { startedAt, finishedAt }, entry.failures, random());
    entry.raw = kept(outcome.raw);
    counter.add(outcome);
    try {
      return await record(outcome, entry.nextPollAt);
    } catch (cause) {
      log.error("poll could not be recorded", { server: entry.server.id, error: String(cause) });
      throw cause;
    }
  }

  function schedule(entry: Entry, at: number): void {
    unschedule(entry);
    if (state !== "started" || !entry.server.enabled) return;
    entry.nextPollAt = at;
    entry.cancelTimer = timers.after(Math.max(0, at - clock.now()), () => void launch(entry, false));
  }

  function scheduleFirst(fresh: readonly Entry[]): void {
    const enabled = fresh.filter(({ server }) => server.enabled);
    for (const [index, entry] of enabled.entries()) {
      schedule(entry, clock.now() + firstDelayMs(entry.server, index, enabled.length, concurrency));
    }
  }

  /** Calls off the server's flight: its callers get the error at once, and the next flight waits until it is down. */
  function ground(entry: Entry, why: ApiError): void {
    unschedule(entry);
    const { flight, server } = entry;
    if (flight === null) return;
    entry.flight = null;
    flight.calledOff = true;
    flight.done.reject(why);
    if (lane.delete(flight) || urgentLane.delete(flight)) return;
    flight.abort.abort();
    const landed = Promise.all([landing.get(server.id), flight.landed]).then(() => {
      if (landing.get(server.id) === landed) landing.delete(server.id);
    });
    landing.set(server.id, landed);
  }

  function replace(entry: Entry, server: MonitoredServer): void {
    const before = entry.server;
    const same = queryOf(before) === queryOf(server);
    entry.server = server;
    if (!same) {
      unschedule(entry);
      Object.assign(entry, UNPOLLED);
      forget(server.id);
    }
    if (!server.enabled) ground(entry, disabledError(server.id));
    else if (entry.flight !== null) {
      // The answer of the old address says nothing about the new one.
      if (!same) entry.flight.abort.abort();
    } else if (!before.enabled || entry.last === null) schedule(entry, clock.now());
    else if (before.intervalMs !== server.intervalMs)
      schedule(entry, nextPollTime(server, entry.last, entry.failures, random()));
  }

  function known(serverId: string): Entry {
    if (state === "stopped") throw stoppingError();
    const entry = entries.get(serverId);
    if (entry === undefined) throw new ApiError("NOT_FOUND", `There is no server \`${serverId}\`.`);
    if (!entry.server.enabled) throw disabledError(serverId);
    return entry;
  }

  return {
    start(): void {
      if (state !== "idle") return;
      state = "started";
      scheduleFirst([...entries.values()]);
    },
    /** Calls off what runs (its tools are killed) and waits for it. Nothing starts afterwards. */
    async stop(): Promise<void> {
      state = "stopped";
      for (const entry of entries.values()) ground(entry, stoppingError());
      await Promise.all(landing.values());
    },
    /** The config's servers from now on: added, removed and changed ones are taken up while polls run. */
    setServers(servers: readonly MonitoredServer[]): void {
      const before = entries;
      entries = new Map(
        servers.map((server) => [server.id, before.get(server.id) ?? entryOf(server, false)]),
      );
      for (const [id, entry] of before) {
        if (entries.has(id)) continue;
        ground(entry, new ApiError("NOT_FOUND", `The server \`${id}\` was removed from the config.`));
        forget(id);
      }
      for (const server of servers) {
        const entry = before.get(server.id);
        if (entry !== undefined) replace(entry, server);
      }
      scheduleFirst([...entries].filter(([id]) => !before.has(id)).map(([, entry]) => entry));
    },
    /**
     * Polls a server now, or joins its running poll. A poll that fails resolves with `outcome.error`. Rejects with
     * ApiError NOT_FOUND, CONFLICT (disabled) or SERVICE_UNAVAILABLE (stopping), and with what `record` threw.
     */
    pollNow: async (serverId: string) => launch(known(serverId), true),
    /** Polls these servers (null = all enabled) now; at most `timeoutMs` for all. Rejects like `pollNow` for a bad id. */
    async rescan(serverIds: readonly string[] | null, timeoutMs: number): Promise<RescanRow[]> {
      const enabled = [...entries.values()].filter(({ server }) => server.enabled);
      // All are looked up before the first is polled.
      const chosen = serverIds === null ? enabled : [...new Set(serverIds)].map(known);
      const polls = chosen.map((entry) => ({ server: entry.server.id, done: launch(entry, true) }));
      return awaitRescan(polls, timeoutMs, timers);
    },
    status() {
      const all = [...entries.values()];
      const enabled = all.filter(({ server }) => server.enabled);
      const ended = all.flatMap(({ last }) => last?.finishedAt ?? []);
      const due = all.flatMap(({ nextPollAt }) => nextPollAt ?? []);
      return {
        servers: all.length,
        enabled: enabled.length,
        /** Enabled servers whose tool was started in the last interval. */
        asked: enabled.filter(({ server, askedAt }) => isInPace(server, askedAt, clock.now())).length,
        runningPolls: all.filter(({ flight }) => flight !== null && places.has(flight)).length,
        /** Epoch ms; null before the first poll, and when none is due. */
        lastPollAt: ended.length === 0 ? null : Math.max(...ended),
        nextPollAt: due.length === 0 ? null : Math.min(...due),
        ...counter.stats(),
      };
    },
    /** Raw output of the last poll; null before the first poll and for unknown ids. */
    raw: async (serverId: string) => (await entries.get(serverId)?.raw()) ?? null,
  };
}

const NO_TIMER = () => {};

function entryOf(server: MonitoredServer, hangs: boolean): Entry {
  return { ...UNPOLLED, server, hangs, flight: null, cancelTimer: NO_TIMER };
}

function createFlight(entry: Entry): Flight {
  const done = Promise.withResolvers<PolledServer>();
  // A scheduled poll has no caller to reject to: its failure stands in the log.
  done.promise.catch(() => {});
  return { entry, slow: entry.hangs, done, landed: null, calledOff: false, abort: new AbortController() };
}

function unschedule(entry: Entry): void {
  entry.cancelTimer();
  entry.cancelTimer = NO_TIMER;
  entry.nextPollAt = null;
}

/** Equal for servers that are asked by the same command and whose answers are read in the same way. */
function queryOf({
  manager,
  address,
  timezone,
  tool,
  secretFile,
  caFile,
  encoding,
}: MonitoredServer): string {
  return JSON.stringify([manager, address, timezone, tool, secretFile, caFile, encoding]);
}

function disabledError(serverId: string): ApiError {
  return new ApiError(
    "CONFLICT",
    `The server \`${serverId}\` is disabled in the config (\`enabled = false\`).`,
  );
}

function stoppingError(): ApiError {
  return new ApiError("SERVICE_UNAVAILABLE", "The daemon is shutting down.");
}
