import { pollErrorOf } from "../collector/poll-error.ts";
import type { CommandRun } from "../collector/run-command.ts";
import type { Config } from "../config/config.ts";
import type { Log } from "../domain/log.ts";
import type { PollOutcome } from "../domain/poll.ts";
import type { MonitoredServer } from "../domain/server.ts";
import { shuffle } from "../domain/track-sessions.ts";
import { hostZone } from "../domain/zone.ts";
import { SERVERS } from "../simulator/servers.ts";
import { createSite } from "../simulator/site.ts";
import { createBackFill, hasHistory } from "../store/back-fill.ts";
import { openStore } from "../store/open.ts";
import { createDemoDenials } from "./demo-denials.ts";
import { createDemoLogs } from "./demo-logs.ts";

/** Between two polls of the past: finer ones would only take longer to make. */
const INTERVAL_MS = 600_000;
const DAY_MS = 86_400_000;
/** Rounds of polls stored together. */
const ROUNDS = 6;
const DURATION_MS = 40;

export interface DemoHistoryOptions {
  readonly config: Config;
  readonly seed: number;
  readonly days: number;
  /** Epoch ms: history ends here. */
  readonly now: number;
  readonly log: Log;
  /** Told how much is done, 0–1; answers whether to go on. */
  readonly progress: (done: number) => boolean;
}

export type DemoHistory = "made" | "there already" | "broken off";

/**
 * Fills a fresh directory with what the simulated servers would have said in the days before: readings of the
 * simulator on the way that every poll takes, without a tool to spawn. Throws StoreError.
 */
export async function makeDemoHistory(options: DemoHistoryOptions): Promise<DemoHistory> {
  const { config, seed, days, now, log, progress } = options;
  const store = openStore({ directory: config.storage.directory, log });
  try {
    if (hasHistory(store)) return "there already";
    const site = createSite({ seed, zone: hostZone() });
    const servers = config.servers.map((server): MonitoredServer => ({ ...server, intervalMs: INTERVAL_MS }));
    const begun = now - days * DAY_MS;
    const denials = createDemoDenials(store, servers, createDemoLogs(servers, seed, begun), log);
    const orderIds = (ids: number[]) => shuffle(ids, Math.random);
    const fill = createBackFill({ store, servers, log, orderIds, looked: denials.look });
    for (let at = begun; at <= now; ) {
      const outcomes: PollOutcome[] = [];
      for (let round = 0; round < ROUNDS && at <= now; round++, at += INTERVAL_MS) {
        for (const server of servers) outcomes.push(pollAt(site, server, at));
      }
      await fill.take(outcomes);
      // Ctrl-C, and the bar, have their turn.
      await new Promise<void>((resume) => setImmediate(resume));
      if (!progress((at - begun) / (days * DAY_MS))) return "broken off";
    }
    await denials.finish();
    await fill.finish();
    return "made";
  } finally {
    store.close();
  }
}

function pollAt(site: ReturnType<typeof createSite>, server: MonitoredServer, at: number): PollOutcome {
  const spec = SERVERS.find(({ id }) => id === server.id);
  if (spec === undefined) throw new Error(`There is no simulated server ${server.id}`);
  const reading = site.reading(spec, at);
  const result: CommandRun = {
    ...{ started: true, argv: server.tool ?? [], exitCode: 0, signal: null, durationMs: DURATION_MS },
    ...{ timedOut: false, truncated: false, stderrTruncated: false, aborted: false, abandoned: false },
    ...{ stdout: NOTHING, stderr: NOTHING },
  };
  return {
    serverId: server.id,
    startedAt: at - DURATION_MS,
    finishedAt: at,
    durationMs: DURATION_MS,
    reading,
    error: pollErrorOf({ result, reading, address: server.address, timeoutMs: server.timeoutMs }),
    raw: { argv: [], exitCode: 0, signal: null, stdout: NOTHING, stderr: NOTHING, truncated: false },
    reachability: [],
  };
}

const NOTHING = new Uint8Array(0);
