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

interface CollectorDeps {
  readonly servers: readonly MonitoredServer[];
  /** Maximum number of simultaneous polls. */
  readonly concurrency: number;
  readonly clock: Clock;
  readonly random: () => number;
  readonly timers: Timers;
  readonly log: Log;
  readonly poll: (server: MonitoredServer, signal: AbortSignal) => Promise<PollOutcome>;
  /** Stores an outcome and returns the server's current picture. `nextPollAt` is epoch ms. */
  readonly record: (outcome: PollOutcome, nextPollAt: number) => Promise<ServerPicture>;
  readonly forget: (serverId: string) => void;
  /** Reports whether the server's tool timed out in the last poll before the restart. */
  readonly hungBefore: (server: MonitoredServer) => boolean;
}

export type Collector = ReturnType<typeof createCollector>;
export type CollectorStatus = ReturnType<Collector["status"]>;

/**
 * Maximum share of the slots for slow polls. Without this limit, 30 hanging tools among 50 would occupy all
 * 8 slots for two minutes at a time.
 */
const SLOW_SHARE = 0.25;

const UNPOLLED = {
  /** Number of consecutive failed polls, and the time of the first one. */
  failures: 0,
  failingSince: null as number | null,
  last: null as { readonly startedAt: number; readonly finishedAt: number } | null,
  /** Start of the last poll, including a running one. */
  askedAt: null as number | null,
  /** True if the last poll timed out. The next poll may then occupy its slot for as long. */
  hangs: false,
  /** Time of the next poll, epoch ms; null while no poll is scheduled. */
  nextPollAt: null as number | null,
  raw: (async () => null) as () => Promise<PollRaw | null>,
};

type Entry = typeof UNPOLLED & {
  server: MonitoredServer;
  pending: PendingPoll | null;
  cancelTimer: () => void;
};

interface PendingPoll {
  readonly entry: Entry;
  readonly slow: boolean;
  readonly done: PromiseWithResolvers<PolledServer>;
  /** Resolves when the poll has ended completely; null while the poll is queued. Never rejects. */
  ended: Promise<void> | null;
  isCancelled: boolean;
  abort: AbortController;
}

/**
 * Polls every enabled server at its interval, one poll per server at a time, and at most `concurrency` in
 * total.
 */
export function createCollector(deps: CollectorDeps) {
  const { concurrency, clock, random, timers, log, poll, record, forget, hungBefore } = deps;
  const slowSlots = Math.max(1, Math.floor(concurrency * SLOW_SHARE));
  const urgentQueue = new Set<PendingPoll>();
  const queue = new Set<PendingPoll>();
  const running = new Set<PendingPoll>();
  /** Cancelled polls that have not ended yet, by server. */
  const ending = new Map<string, Promise<void>>();
  const counter = createPollCounter();
  let entries = new Map(deps.servers.map((server) => [server.id, entryOf(server, hungBefore(server))]));
  let state: "idle" | "started" | "stopped" = "idle";

  /** Joins the server's queued or running poll, or queues a new one. Urgent polls go first. */
  function requestPoll(entry: Entry, urgent: boolean): Promise<PolledServer> {
    const pending = entry.pending ?? createPendingPoll(entry);
    const isNew = entry.pending === null;
    entry.pending = pending;
    // A running poll schedules the next one itself.
    if (pending.ended === null) unschedule(entry);
    if (isNew || (urgent && queue.delete(pending))) (urgent ? urgentQueue : queue).add(pending);
    fillSlots();
    return pending.done.promise;
  }

  function fillSlots(): void {
    while (running.size < concurrency) {
      const areSlowSlotsFull = [...running].filter(({ slow }) => slow).length >= slowSlots;
      const pending = [...urgentQueue, ...queue].find(({ slow }) => !(slow && areSlowSlotsFull));
      if (pending === undefined) return;
      urgentQueue.delete(pending);
      queue.delete(pending);
      running.add(pending);
      pending.ended = runPoll(pending);
    }
  }

  function freeSlot(pending: PendingPoll): void {
    if (running.delete(pending)) fillSlots();
  }

  async function runPoll(pending: PendingPoll): Promise<void> {
    const { entry, done } = pending;
    try {
      // If the server was removed and added again, its old tool may still run.
      await ending.get(entry.server.id);
      const outcome = await pollAsConfigured(pending);
      // The tool has ended, so another poll may start while this outcome is stored.
      freeSlot(pending);
      done.resolve({ outcome, picture: await keep(entry, outcome) });
    } catch (error) {
      done.reject(error);
    }
    if (!pending.isCancelled) {
      entry.pending = null;
      // The time is null if `replace` changed the server while its outcome was being stored. Then poll
      // again now.
      schedule(entry, entry.nextPollAt ?? clock.now());
    }
    freeSlot(pending);
  }

  /** Polls, and repeats the poll if the config changed the server meanwhile. */
  async function pollAsConfigured(pending: PendingPoll): Promise<PollOutcome> {
    const { entry } = pending;
    while (!pending.isCancelled) {
      const { server } = entry;
      const startedAt = clock.now();
      entry.askedAt = startedAt;
      pending.abort = new AbortController();
      const outcome = await poll(server, pending.abort.signal).catch((error: unknown) => {
        log.error("poll failed because of an internal error", { server: server.id, error: String(error) });
        return failedInside(server.id, startedAt, clock.now());
      });
      if (!pending.isCancelled && queryOf(server) === queryOf(entry.server)) return outcome;
    }
    throw new Error("cancelled");
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
      log.error("poll could not be stored", { server: entry.server.id, error: String(cause) });
      throw cause;
    }
  }

  function schedule(entry: Entry, at: number): void {
    unschedule(entry);
    if (state !== "started" || !entry.server.enabled) return;
    entry.nextPollAt = at;
    entry.cancelTimer = timers.after(Math.max(0, at - clock.now()), () => void requestPoll(entry, false));
  }

  function scheduleFirst(fresh: readonly Entry[]): void {
    const enabled = fresh.filter(({ server }) => server.enabled);
    for (const [index, entry] of enabled.entries()) {
      schedule(entry, clock.now() + firstDelayMs(entry.server, index, enabled.length, concurrency));
    }
  }

  /**
   * Cancels the server's poll. Callers get the error at once; the next poll waits until the cancelled poll
   * has ended.
   */
  function cancelPoll(entry: Entry, why: ApiError): void {
    unschedule(entry);
    const { pending, server } = entry;
    if (pending === null) return;
    entry.pending = null;
    pending.isCancelled = true;
    pending.done.reject(why);
    if (queue.delete(pending) || urgentQueue.delete(pending)) return;
    pending.abort.abort();
    const ended = Promise.all([ending.get(server.id), pending.ended]).then(() => {
      if (ending.get(server.id) === ended) ending.delete(server.id);
    });
    ending.set(server.id, ended);
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
    if (!server.enabled) cancelPoll(entry, disabledError(server.id));
    else if (entry.pending !== null) {
      // The answer of the old address is not valid for the new address.
      if (!same) entry.pending.abort.abort();
    } else if (!before.enabled || entry.last === null) schedule(entry, clock.now());
    else if (before.intervalMs !== server.intervalMs)
      schedule(entry, nextPollTime(server, entry.last, entry.failures, random()));
  }

  function known(serverId: string): Entry {
    if (state === "stopped") throw stoppingError();
    const entry = entries.get(serverId);
    if (entry === undefined) throw new ApiError("NOT_FOUND", `Unknown server "${serverId}".`);
    if (!entry.server.enabled) throw disabledError(serverId);
    return entry;
  }

  return {
    start(): void {
      if (state !== "idle") return;
      state = "started";
      scheduleFirst([...entries.values()]);
    },
    /** Cancels all polls, kills their tools, and waits for them. No poll starts afterwards. */
    async stop(): Promise<void> {
      state = "stopped";
      for (const entry of entries.values()) cancelPoll(entry, stoppingError());
      await Promise.all(ending.values());
    },
    setServers(servers: readonly MonitoredServer[]): void {
      const before = entries;
      entries = new Map(
        servers.map((server) => [server.id, before.get(server.id) ?? entryOf(server, false)]),
      );
      for (const [id, entry] of before) {
        if (entries.has(id)) continue;
        cancelPoll(entry, new ApiError("NOT_FOUND", `The server \`${id}\` was removed from the config.`));
        forget(id);
      }
      for (const server of servers) {
        const entry = before.get(server.id);
        if (entry !== undefined) replace(entry, server);
      }
      scheduleFirst([...entries].filter(([id]) => !before.has(id)).map(([, entry]) => entry));
    },
    /**
     * Polls a server now, or joins its running poll. A failed poll resolves with `outcome.error`. Rejects
     * with ApiError NOT_FOUND, CONFLICT (disabled) or SERVICE_UNAVAILABLE (stopping), and with errors of
     * `record`.
     */
    pollNow: async (serverId: string) => requestPoll(known(serverId), true),
    /** Polls these servers now (null = all enabled servers), in at most `timeoutMs`. Rejects like `pollNow`. */
    async rescan(serverIds: readonly string[] | null, timeoutMs: number): Promise<RescanRow[]> {
      const enabled = [...entries.values()].filter(({ server }) => server.enabled);
      const chosen = serverIds === null ? enabled : [...new Set(serverIds)].map(known);
      const polls = chosen.map((entry) => ({ server: entry.server.id, done: requestPoll(entry, true) }));
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
        asked: enabled.filter(({ server, askedAt }) => isInPace(server, askedAt, clock.now())).length,
        runningPolls: all.filter(({ pending }) => pending !== null && running.has(pending)).length,
        lastPollAt: ended.length === 0 ? null : Math.max(...ended),
        nextPollAt: due.length === 0 ? null : Math.min(...due),
        ...counter.stats(),
      };
    },
    /** Returns the raw output of the last poll; null before the first poll, and for unknown ids. */
    raw: async (serverId: string) => (await entries.get(serverId)?.raw()) ?? null,
  };
}

const NO_TIMER = () => {};

function entryOf(server: MonitoredServer, hangs: boolean): Entry {
  return { ...UNPOLLED, server, hangs, pending: null, cancelTimer: NO_TIMER };
}

function createPendingPoll(entry: Entry): PendingPoll {
  const done = Promise.withResolvers<PolledServer>();
  // A scheduled poll has no caller; its failure is logged.
  done.promise.catch(() => {});
  return { entry, slow: entry.hangs, done, ended: null, isCancelled: false, abort: new AbortController() };
}

function unschedule(entry: Entry): void {
  entry.cancelTimer();
  entry.cancelTimer = NO_TIMER;
  entry.nextPollAt = null;
}

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
