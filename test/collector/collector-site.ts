import { createCollector } from "../../src/collector/collector.ts";
import type { PollError, PollOutcome } from "../../src/domain/poll.ts";
import { initialPicture } from "../../src/domain/polls/apply-poll.ts";
import type { Reading } from "../../src/domain/reading.ts";
import type { MonitoredServer } from "../../src/domain/server.ts";
import type { DataState } from "../../src/domain/words.ts";
import * as make from "../domain/make.ts";
import { recordingLog } from "../store/recording-log.ts";
import { createVirtualTime } from "./virtual-time.ts";

export const server = (id: string, more: Partial<MonitoredServer> = {}) => make.server({ id, ...more });

export const UNREACHABLE: PollError = {
  code: "LICENSE_SERVER_UNREACHABLE",
  message: "No license server answers.",
  details: "Cannot connect (-15,570)",
};

const WELL = {
  takesMs: 1000,
  error: null as PollError | null,
  state: "ok" as DataState,
  reading: {} as Partial<Reading>,
  /** Whether `poll` throws. */
  breaks: false,
};

interface Poll {
  readonly id: string;
  readonly address: string;
  readonly startedAt: number;
  endedAt: number | null;
  aborted: boolean;
}

/** Creates a collector with virtual time and simulated polls, which take a while to abort, like real ones. */
export function createSite(
  servers: readonly (MonitoredServer | string)[],
  options: {
    readonly concurrency?: number;
    readonly random?: () => number;
    readonly abortTakesMs?: number;
    readonly hungBefore?: readonly string[];
  } = {},
) {
  const { concurrency = 8, random = () => 0.5, abortTakesMs = 100, hungBefore = [] } = options;
  const time = createVirtualTime();
  const begun = time.clock.now();
  const behaviours = new Map<string, typeof WELL>();
  const polls: Poll[] = [];
  const recorded: { outcome: PollOutcome; nextPollAt: number }[] = [];
  const forgotten: string[] = [];
  const log = recordingLog();
  const most = { atOnce: 0, ofOneServer: 0 };
  /** `record` awaits `take`. Tests replace it, to delay `record` or to let it fail. */
  const store = { take: async () => {} };

  const behaviourOf = (id: string) => behaviours.get(id) ?? WELL;
  const running = () => polls.filter(({ endedAt }) => endedAt === null).map(({ id }) => id);

  async function poll({ id, address }: MonitoredServer, signal: AbortSignal): Promise<PollOutcome> {
    const startedAt = time.clock.now();
    const entry: Poll = { id, address, startedAt, endedAt: null, aborted: false };
    polls.push(entry);
    most.atOnce = Math.max(most.atOnce, running().length);
    most.ofOneServer = Math.max(most.ofOneServer, running().filter((each) => each === id).length);
    const aborted = new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
    const { takesMs, error, breaks, reading } = behaviourOf(id);
    await Promise.race([time.sleep(takesMs), aborted]);
    if (signal.aborted) {
      entry.aborted = true;
      await time.sleep(abortTakesMs);
    }
    const finishedAt = time.clock.now();
    entry.endedAt = finishedAt;
    if (breaks) throw new Error("a fault of our own");
    const of = { serverId: id, startedAt, finishedAt, durationMs: finishedAt - startedAt, error };
    return make.outcome({ ...of, reading: error === null ? make.reading(reading) : null });
  }

  const collector = createCollector({
    servers: servers.map((each) => (typeof each === "string" ? server(each) : each)),
    concurrency,
    clock: time.clock,
    random,
    timers: time.timers,
    log,
    poll,
    async record(outcome, nextPollAt) {
      await store.take();
      recorded.push({ outcome, nextPollAt });
      const state = outcome.error === null ? behaviourOf(outcome.serverId).state : "stale";
      return { ...initialPicture(server(outcome.serverId)), state };
    },
    forget: (id) => void forgotten.push(id),
    hungBefore: ({ id }) => hungBefore.includes(id),
  });

  return {
    time,
    collector,
    polls,
    running,
    most,
    recorded,
    forgotten,
    store,
    log: log.lines,
    behave: (id: string, behaviour: Partial<typeof WELL>) =>
      void behaviours.set(id, { ...behaviourOf(id), ...behaviour }),
    /** Returns the starts of a server's polls, in seconds after the begin. */
    startsOf: (id: string) =>
      polls.filter((each) => each.id === id).map(({ startedAt }) => (startedAt - begun) / 1000),
  };
}

export function startSite(...of: Parameters<typeof createSite>) {
  const site = createSite(...of);
  site.collector.start();
  return site;
}
