import type { Collector, CollectorStatus } from "../collector/collector.ts";
import type { Config } from "../config/config.ts";
import { type Problem, printProblem } from "../config/problem.ts";
import type { Snapshot } from "../domain/picture.ts";
import type { HealthCheck } from "../domain/service/status.ts";
import { clockMessage } from "../domain/time/clock.ts";
import { nextTurn } from "../domain/time/slices.ts";
import { hostZone } from "../domain/time/zone.ts";
import type { DaemonStatus, HttpDeps, HttpSettings } from "../http/deps.ts";
import type { AppDeps } from "../http/routes/deps.ts";
import type { Broadcaster } from "../http/streams/broadcaster.ts";
import type { Bus } from "../live/bus.ts";
import type { Sampler } from "../live/sampler.ts";
import { whenFree } from "../store/database/busy.ts";
import type { DatabaseCheck } from "../store/database/database-file.ts";
import type { Events } from "../store/events.ts";
import { createLogs } from "../store/logs.ts";
import type { Store } from "../store/open/open.ts";
import type { HostSample } from "../system/host-metrics.ts";
import type { Fleet } from "./fleet.ts";
import type { LoopLag } from "./meters.ts";
import type { Reloaded, RunningConfig } from "./running-config.ts";

interface HttpParts extends Omit<AppDeps, "settings" | "health" | "streams" | "daemon" | "logs"> {
  readonly collector: Collector;
  readonly running: Pick<RunningConfig, "current" | "file" | "lastReload">;
  readonly store: Store;
  readonly bus: Bus;
  readonly events: Events;
  readonly sampler: Sampler;
  readonly broadcaster: Broadcaster;
  readonly lag: LoopLag;
  readonly fleet: Pick<Fleet, "status">;
  readonly startedAt: number;
  /** Start time by `performance.now()`, which is independent of clock changes. */
  readonly begun: number;
  readonly clockDoubtMs: () => number | null;
  readonly oldestSampleAt: () => number | null;
  readonly newestBackups: () => DaemonStatus["database"]["backups"];
  readonly reload: (print: (problem: Problem) => string) => Reloaded;
}

/**
 * Returns the settings for HTTP. They are made once per config, because every request reads them several
 * times.
 */
export function createSettings({ current }: Pick<RunningConfig, "current">, ofSite?: null) {
  let config: Config | null = null;
  let settings: HttpSettings;
  return (): HttpSettings => {
    if (config === current()) return settings;
    config = current();
    const { http, limits, collector, products, maintenance, page, fleet } = config;
    settings = {
      ...http,
      limits,
      products,
      maintenance,
      page,
      ofSite: ofSite === null ? null : fleet?.site,
      rescanTimeoutMs: collector.rescanTimeoutMs,
      // Loaded on demand: few routes need it, and the time-zone data costs 4 MB.
      get timezone() {
        return hostZone();
      },
    };
    return settings;
  };
}

export function httpDepsOf(parts: HttpParts): AppDeps {
  const { collector, running, store, live, host, clock } = parts;
  return {
    ...parts,
    logs: createLogsPort(store, parts.bus),
    settings: createSettings(running),
    health: () => ({
      database: databaseHealth(store.checkDatabase()),
      collector: collectorHealth(collector.status(), live.snapshot(), clock.now()),
      disk: diskHealth(host.sample()),
      clock: clockHealth(parts.clockDoubtMs()),
    }),
    streams: {
      broadcaster: parts.broadcaster,
      history: parts.events,
      samples: parts.sampler,
      limits: () => {
        const { streams, streamsPerKey } = running.current().limits;
        return { streams, perKey: streamsPerKey };
      },
    },
    daemon: processPort({
      ...parts,
      streams: parts.broadcaster.counts,
      counters: collector.status,
      status: () => ({
        fleet: parts.fleet.status(),
        database: {
          sizeBytes: store.sizeBytes(),
          schemaVersion: store.schemaVersion,
          oldestSampleAt: parts.oldestSampleAt(),
          backups: parts.newestBackups(),
        },
      }),
    }),
  };
}

interface ProcessParts extends Pick<HttpParts, "running" | "lag" | "startedAt" | "begun" | "reload"> {
  readonly streams: Broadcaster["counts"];
  readonly counters: () => Pick<CollectorStatus, "polls" | "parseProblems">;
  readonly status: () => Pick<DaemonStatus, "fleet" | "database">;
}

export function processPort(parts: ProcessParts): HttpDeps["daemon"] {
  const { running, lag, startedAt, begun, reload, streams } = parts;
  return {
    status: () => ({
      uptimeSeconds: Math.floor((performance.now() - begun) / 1000),
      startedAt,
      configFile: running.file(),
      lastReload: running.lastReload(),
      streams: streams(),
      eventLoopLagMs: lag.longestMs(),
      ...parts.status(),
    }),
    counters() {
      const { polls, parseProblems } = parts.counters();
      const { sse, websocket } = streams();
      const { user, system } = process.cpuUsage();
      return {
        polls,
        parseProblems,
        streamClients: sse + websocket,
        memoryBytes: process.memoryUsage.rss(),
        cpuSeconds: (user + system) / 1e6,
        eventLoopLagMs: lag.longestMs(),
      };
    },
    reload: () => reload(printWithoutFile),
  };
}

/** Formats a problem for HTTP answers, without paths of the host. */
function printWithoutFile(problem: Problem): string {
  const line = problem.file === null || problem.line === null ? "" : `line ${problem.line}: `;
  return line + printProblem({ ...problem, file: null, line: null });
}

/** Clears stored log lines in steps, so that other work can run between the steps. */
export function createLogsPort(store: Store, bus: Pick<Bus, "commit" | "lastPublished">): HttpDeps["logs"] {
  const logs = createLogs(store);
  return {
    async clear(before) {
      // Store queued lines first.
      await bus.commit(() => {}, []);
      const through = bus.lastPublished();
      let cleared = 0;
      for (let after = 0; ; ) {
        const step = await whenFree(() => logs.clearStep(before, after, through), store.busy);
        if (step.last === null) return cleared;
        cleared += step.cleared;
        after = step.last;
        await nextTurn();
      }
    },
  };
}

// Parts of `/api/health`, which is public: no names of servers, no paths.

/** Delay of the next poll above which the schedule is reported as unhealthy. */
const OVERDUE_MS = 5 * 60_000;
const DISK_FULL_PERCENT = 95;

export function databaseHealth({ ok, degraded, message }: DatabaseCheck): HealthCheck {
  if (!ok) return { status: "unhealthy", message };
  return { status: degraded === true ? "degraded" : "healthy", message };
}

export function collectorHealth(
  status: Pick<CollectorStatus, "nextPollAt" | "servers" | "enabled" | "asked" | "runningPolls">,
  { servers }: Snapshot,
  now: number,
): HealthCheck {
  const { nextPollAt, servers: configured, enabled, asked, runningPolls } = status;
  if (enabled === 0) {
    const message =
      configured === 0 ? "No server is configured" : `No server is enabled, ${configured} configured`;
    return { status: "healthy", message };
  }
  if (runningPolls === 0 && nextPollAt !== null && now - nextPollAt > OVERDUE_MS)
    return { status: "unhealthy", message: "Polls are overdue" };
  const polled = servers.filter(({ server, lastPollAt }) => server.enabled && lastPollAt !== null);
  const well = polled.filter(
    ({ state, status }) => state !== "stale" && state !== "failed" && status !== "down",
  );
  const message = `${well.length} of ${enabled} servers answer; ${configured} configured, ${asked} asked in the last interval`;
  return { status: well.length < polled.length ? "degraded" : "healthy", message };
}

export function diskHealth({ disk }: Pick<HostSample, "disk">): HealthCheck {
  if (disk === null) return { status: "healthy", message: "Disk usage is unknown on this host" };
  const full = disk >= DISK_FULL_PERCENT;
  return { status: full ? "degraded" : "healthy", message: `${disk} % of the file system is used` };
}

export function clockHealth(doubtMs: number | null): HealthCheck {
  if (doubtMs === null) return { status: "healthy", message: "Clock is in sync" };
  return { status: "degraded", message: clockMessage(doubtMs) };
}
