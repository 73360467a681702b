import { ApiError } from "../domain/errors.ts";
import type { Log } from "../domain/log.ts";
import type { ServerPicture } from "../domain/picture.ts";
import type { PollOutcome } from "../domain/poll.ts";
import type { MonitoredServer } from "../domain/server.ts";
import type { Clock } from "../domain/time/clock.ts";
import type { Timers } from "../domain/time/timers.ts";
import { createFlights, type FlightControl } from "./flights.ts";
import {
  createOutageLog,
  createPollCounter,
  createRawOutputs,
  type PollStats,
  type RawOutput,
} from "./outcomes.ts";
import { firstDelayMs, isInPace, nextPollTime } from "./pace.ts";
import { failedInside } from "./poll.ts";

import { awaitRescan, type PolledServer, type RescanRow } from "./rescan.ts";

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
  readonly forget?: (serverId: string) => void;
  /** Whether a server's tool ran into its timeout in the last poll before the start; none did when absent. */
  readonly hungBefore?: (server: MonitoredServer) => boolean;
}

export interface CollectorStatus extends PollStats {
  readonly servers: number;
  readonly enabled: number;
  /** Enabled servers whose tool was started in the last interval. */
  readonly asked: number;
  readonly runningPolls: number;
  /** Ids of the servers that are being polled now, in the config's order. */
  readonly running: readonly string[];
  /** Polls that wait for a free place. */
  readonly waiting: number;
  readonly concurrency: number;
  /** Epoch ms. */
  readonly lastPollAt: number | null;
  readonly nextPollAt: number | null;
}

export interface Collector {
  start(): void;
  /** Calls off what runs (its tools are killed) and waits for it. Nothing starts afterwards. */
  stop(): Promise<void>;
  /** The config's servers from now on: added, removed and changed ones are taken up while polls run. */
  setServers(servers: readonly MonitoredServer[]): void;
  /**
   * Polls a server now, or joins its running poll. A poll that fails resolves with `outcome.error`. Rejects with ApiError
   * NOT_FOUND, CONFLICT (disabled) or SERVICE_UNAVAILABLE (stopping), and with what `record` threw.
   */
  pollNow(serverId: string): Promise<PolledServer>;
  /** Polls these servers (null = all enabled) now; at most `timeoutMs` for all. Rejects like `pollNow` for a bad id. */
  rescan(serverIds: readonly string[] | null, timeoutMs: number): Promise<RescanRow[]>;
  status(): CollectorStatus;
  /** The last poll's words; null before the first poll and for unknown ids. */
  raw(serverId: string): Promise<RawOutput | null>;
}

interface Entry {
  server: MonitoredServer;
  /** Failed polls in a row. */
  failures: number;
  last: { readonly startedAt: number; readonly finishedAt: number } | null;
  /** Start of the last poll, also of one that runs. */
  askedAt: number | null;
  /** The last poll ran into its timeout, whatever its output was good for: the next one may hold its place as long. */
  hangs: boolean;
  /** Null while it is polled, and when it never will be. */
  nextPollAt: number | null;
  callOffTimer: () => void;
}

/** Polls every enabled server at its interval: one poll a server, `concurrency` in all. */
export function createCollector(deps: CollectorDeps): Collector {
  const {
    concurrency,
    clock,
    random,
    timers,
    log,
    poll,
    record,
    forget = () => {},
    hungBefore = () => false,
  } = deps;
  const flights = createFlights({ limit: concurrency, work: fly, onLanding: resume });
  const counter = createPollCounter();
  const outages = createOutageLog(log);
  const raws = createRawOutputs();
  let entries = new Map(deps.servers.map((server) => [server.id, createEntry(server, hungBefore(server))]));
  let state: "idle" | "started" | "stopped" = "idle";

  function launch(entry: Entry, urgent: boolean): Promise<PolledServer> {
    // A running poll has set its next time already, or will.
    if (!flights.isRunning(entry.server.id)) unschedule(entry);
    return flights.launch(entry.server.id, urgent, entry.hangs);
  }

  function schedule(entry: Entry, at: number): void {
    unschedule(entry);
    if (state !== "started" || !entry.server.enabled) return;
    entry.nextPollAt = at;
    entry.callOffTimer = timers.after(Math.max(0, at - clock.now()), () => void launch(entry, false));
  }

  function scheduleFirst(fresh: readonly Entry[]): void {
    const enabled = fresh.filter(({ server }) => server.enabled);
    for (const [index, entry] of enabled.entries()) {
      schedule(entry, clock.now() + firstDelayMs(entry.server, index, enabled.length, concurrency));
    }
  }

  async function fly(id: string, control: FlightControl): Promise<PolledServer> {
    const entry = entryOf(id);
    unschedule(entry);
    const outcome = await pollAsConfigured(entry, control);
    if (control.calledOff) throw new Error("called off");
    // The tool has ended: the next one may start while this outcome is stored.
    control.freePlace();

    entry.failures = outcome.error === null ? 0 : entry.failures + 1;
    entry.last = { startedAt: outcome.startedAt, finishedAt: outcome.finishedAt };
    entry.hangs = outcome.durationMs >= entry.server.timeoutMs;
    entry.nextPollAt = nextPollTime(entry.server, { ...entry.last, failures: entry.failures }, random());
    counter.add(outcome);
    outages.note(outcome);
    raws.keep(outcome);
    try {
      return { outcome, picture: await record(outcome, entry.nextPollAt) };
    } catch (error) {
      log.error("poll could not be recorded", { server: id, error: String(error) });
      throw error;
    }
  }

  /** Polls, and once more when the config changed the server under the running poll. */
  async function pollAsConfigured(entry: Entry, control: FlightControl): Promise<PollOutcome> {
    for (;;) {
      const { server } = entry;
      const startedAt = clock.now();
      entry.askedAt = startedAt;
      const outcome = await poll(server, control.attempt()).catch((error: unknown) => {
        log.error("poll failed inside licmond", { server: server.id, error: String(error) });
        return failedInside(server.id, startedAt, clock.now());
      });
      if (control.calledOff || isSameQuery(server, entry.server)) return outcome;
    }
  }

  function resume(id: string): void {
    const entry = entries.get(id);
    // Changed while its outcome was recorded: `replace` took its next time away.
    if (entry !== undefined) schedule(entry, entry.nextPollAt ?? clock.now());
  }

  function ground(entry: Entry, why: ApiError): void {
    unschedule(entry);
    flights.ground(entry.server.id, why);
  }

  function replace(entry: Entry, server: MonitoredServer): void {
    const before = entry.server;
    const same = isSameQuery(before, server);
    entry.server = server;
    if (!same) {
      clear(server.id);
      entry.failures = 0;
      entry.last = null;
      entry.askedAt = null;
      entry.hangs = false;
    }
    if (!server.enabled) {
      ground(entry, disabledError(server.id));
    } else if (flights.has(server.id)) {
      if (same) return;
      // The answer of the old address says nothing about the new one.
      entry.nextPollAt = null;
      flights.interrupt(server.id);
    } else if (!same || !before.enabled || entry.last === null) {
      schedule(entry, clock.now());
    } else if (before.intervalMs !== server.intervalMs) {
      schedule(entry, nextPollTime(server, { ...entry.last, failures: entry.failures }, random()));
    }
  }

  function clear(serverId: string): void {
    raws.forget(serverId);
    outages.forget(serverId);
    forget(serverId);
  }

  function entryOf(serverId: string): Entry {
    if (state === "stopped") throw stoppingError();
    const entry = entries.get(serverId);
    if (entry === undefined) throw new ApiError("NOT_FOUND", `There is no server \`${serverId}\`.`);
    if (!entry.server.enabled) throw disabledError(serverId);
    return entry;
  }

  return {
    start() {
      if (state !== "idle") return;
      state = "started";
      scheduleFirst([...entries.values()]);
    },
    async stop() {
      state = "stopped";
      for (const entry of entries.values()) ground(entry, stoppingError());
      await flights.allGrounded();
    },
    setServers(servers) {
      const before = entries;
      entries = new Map(
        servers.map((server) => [server.id, before.get(server.id) ?? createEntry(server, false)]),
      );
      for (const [id, entry] of before) {
        if (entries.has(id)) continue;
        ground(entry, new ApiError("NOT_FOUND", `The server \`${id}\` was removed from the config.`));
        clear(id);
      }
      for (const server of servers) {
        const known = before.get(server.id);
        if (known !== undefined) replace(known, server);
      }
      scheduleFirst([...entries].filter(([id]) => !before.has(id)).map(([, entry]) => entry));
    },
    pollNow: async (serverId) => launch(entryOf(serverId), true),
    async rescan(serverIds, timeoutMs) {
      const enabled = [...entries.values()].filter(({ server }) => server.enabled);
      // All are looked up before the first is polled.
      const chosen = serverIds === null ? enabled : [...new Set(serverIds)].map(entryOf);
      const polls = chosen.map((entry) => ({ server: entry.server.id, done: launch(entry, true) }));
      return awaitRescan(polls, timeoutMs, timers);
    },
    status() {
      const all = [...entries.values()];
      const inPlaces = flights.inPlaces();
      const running = all.map(({ server }) => server.id).filter((id) => inPlaces.has(id));
      return {
        servers: all.length,
        enabled: all.filter(({ server }) => server.enabled).length,
        asked: all.filter(({ server, askedAt }) => server.enabled && isInPace(server, askedAt, clock.now()))
          .length,
        runningPolls: running.length,
        running,
        waiting: flights.waiting,
        concurrency,
        lastPollAt: extreme(
          Math.max,
          all.map(({ last }) => last?.finishedAt),
        ),
        nextPollAt: extreme(
          Math.min,
          all.map(({ nextPollAt }) => nextPollAt),
        ),
        ...counter.stats(),
      };
    },
    raw: (serverId) => raws.get(serverId),
  };
}

const NO_TIMER = () => {};

function createEntry(server: MonitoredServer, hangs: boolean): Entry {
  return {
    server,
    failures: 0,
    last: null,
    askedAt: null,
    hangs,
    nextPollAt: null,
    callOffTimer: NO_TIMER,
  };
}

function unschedule(entry: Entry): void {
  entry.callOffTimer();
  entry.callOffTimer = NO_TIMER;
  entry.nextPollAt = null;
}

/** True when both would run the same command and read its answer in the same way. */
function isSameQuery(a: MonitoredServer, b: MonitoredServer): boolean {
  return (
    a.manager === b.manager &&
    a.address === b.address &&
    a.timezone === b.timezone &&
    JSON.stringify(a.tool) === JSON.stringify(b.tool)
  );
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

function extreme(
  pick: (...values: number[]) => number,
  values: readonly (number | null | undefined)[],
): number | null {
  const known = values.filter((value) => typeof value === "number");
  return known.length === 0 ? null : known.reduce((a, b) => pick(a, b));
}
