import { type Collector, createCollector } from "../../src/collector/collector.ts";
import type { LogFields } from "../../src/domain/log.ts";
import type { PollError, PollOutcome } from "../../src/domain/poll.ts";
import type { Reading } from "../../src/domain/reading.ts";
import type { MonitoredServer } from "../../src/domain/server.ts";
import type { DataState, LogLevel } from "../../src/domain/words.ts";
import { outcome, picture, reading, server } from "./sample-poll.ts";
import { createVirtualTime, type VirtualTime } from "./virtual-time.ts";

/** How a make-believe server behaves from now on. */
export interface Behaviour {
  takesMs: number;
  error: PollError | null;
  state: DataState;
  reading: Partial<Reading>;
  /** `poll` itself breaks. */
  breaks: boolean;
}

export interface Poll {
  readonly id: string;
  readonly address: string;
  readonly startedAt: number;
  endedAt: number | null;
  aborted: boolean;
}

export interface Site {
  readonly time: VirtualTime;
  readonly collector: Collector;
  /** In the order in which they began. */
  readonly polls: Poll[];
  /** Polls running now, and the most there ever were: in all, and of one server. */
  running(): number;
  readonly most: { atOnce: number; ofOneServer: number };
  readonly recorded: { outcome: PollOutcome; nextPollAt: number }[];
  readonly log: { level: LogLevel; message: string; fields: LogFields }[];
  readonly forgotten: string[];
  behave(id: string, behaviour: Partial<Behaviour>): void;
  /** What `record` throws from now on; null = nothing. */
  breakStore(error: Error | null): void;
  /** Start times of a server's polls, seconds since the beginning. */
  startsOf(id: string): number[];
}

interface SiteOptions {
  readonly concurrency?: number;
  readonly random?: () => number;
  readonly abortTakesMs?: number;
  /** Ids of servers whose tool hung before the start. */
  readonly hungBefore?: readonly string[];
}

/** A collector with virtual time and make-believe polls that takes its aborts as a real one does: after a while. */
export function createSite(
  servers: readonly (MonitoredServer | string)[],
  { concurrency = 8, random = () => 0.5, abortTakesMs = 100, hungBefore = [] }: SiteOptions = {},
): Site {
  const time = createVirtualTime();
  const begun = time.clock.now();
  const behaviours = new Map<string, Behaviour>();
  const polls: Poll[] = [];
  const recorded: Site["recorded"] = [];
  const lines: Site["log"] = [];
  const forgotten: string[] = [];
  const most = { atOnce: 0, ofOneServer: 0 };
  let storeError: Error | null = null;

  const behaviourOf = (id: string): Behaviour =>
    behaviours.get(id) ?? { takesMs: 1000, error: null, state: "ok", reading: {}, breaks: false };
  const runningPolls = () => polls.filter(({ endedAt }) => endedAt === null);

  async function poll(of: MonitoredServer, signal: AbortSignal): Promise<PollOutcome> {
    const startedAt = time.clock.now();
    const entry: Poll = { id: of.id, address: of.address, startedAt, endedAt: null, aborted: false };
    polls.push(entry);
    most.atOnce = Math.max(most.atOnce, runningPolls().length);
    most.ofOneServer = Math.max(most.ofOneServer, runningPolls().filter(({ id }) => id === of.id).length);
    const aborted = new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
    const { takesMs, error, breaks, ...behaviour } = behaviourOf(of.id);
    await Promise.race([time.sleep(takesMs), aborted]);
    if (signal.aborted) {
      entry.aborted = true;
      await time.sleep(abortTakesMs);
    }
    entry.endedAt = time.clock.now();
    if (breaks) throw new Error("a fault of our own");
    return outcome(of.id, {
      startedAt,
      finishedAt: entry.endedAt,
      durationMs: entry.endedAt - startedAt,
      error,
      reading: error === null ? reading(behaviour.reading) : null,
    });
  }

  const write =
    (level: LogLevel) =>
    (message: string, fields: LogFields = {}) =>
      void lines.push({ level, message, fields });
  const collector = createCollector({
    servers: servers.map((each) => (typeof each === "string" ? server(each) : each)),
    concurrency,
    clock: time.clock,
    random,
    timers: time.timers,
    log: { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") },
    poll,
    async record(done, nextPollAt) {
      if (storeError !== null) throw storeError;
      recorded.push({ outcome: done, nextPollAt });
      return picture(server(done.serverId), done, behaviourOf(done.serverId).state);
    },
    forget: (id) => void forgotten.push(id),
    hungBefore: ({ id }) => hungBefore.includes(id),
  });

  return {
    time,
    collector,
    polls,
    running: () => runningPolls().length,
    most,
    recorded,
    log: lines,
    forgotten,
    behave: (id, behaviour) => void behaviours.set(id, { ...behaviourOf(id), ...behaviour }),
    breakStore: (error) => {
      storeError = error;
    },
    startsOf: (id) =>
      polls.filter((each) => each.id === id).map(({ startedAt }) => (startedAt - begun) / 1000),
  };
}
