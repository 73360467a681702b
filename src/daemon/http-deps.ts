import type { Collector } from "../collector/collector.ts";
import { type Problem, printProblem } from "../config/problem.ts";
import { hostZone } from "../domain/time/zone.ts";
import type { AppDeps } from "../http/routes/deps.ts";
import type { Hub } from "../http/streams/hub.ts";
import type { Bus } from "../live/bus.ts";
import type { Sampler } from "../live/sampler.ts";
import type { Events } from "../store/events.ts";
import type { Store } from "../store/open/open.ts";
import { healthOf } from "./health.ts";
import { countersOf, createLogsPort, type LoopLag } from "./ports.ts";

import type { Reloaded, RunningConfig } from "./running-config.ts";

/** The parts of the daemon that answer requests. What a route can have as it is, stands in `AppDeps` already. */
export interface HttpParts extends Omit<AppDeps, "settings" | "health" | "streams" | "daemon" | "logs"> {
  readonly collector: Collector;
  readonly running: Pick<RunningConfig, "current" | "file" | "lastReload">;
  readonly store: Store;
  readonly bus: Bus;
  readonly events: Events;
  readonly sampler: Sampler;
  readonly hub: Hub;
  readonly lag: LoopLag;
  readonly startedAt: number;
  /** The start by `performance.now()`, which no clock that is set changes. */
  readonly begun: number;
  readonly clockDoubtMs: () => number | null;
  readonly oldestSampleAt: () => number | null;
  readonly reload: (print: (problem: Problem) => string) => Reloaded;
}

/** What the HTTP side asks of the daemon, from its parts. */
export function httpDepsOf(parts: HttpParts): AppDeps {
  const { collector, running, store, bus, events, sampler, hub, lag, startedAt, begun, ...rest } = parts;
  const { oldestSampleAt, clockDoubtMs, reload, ...asTheyAre } = rest;
  const { clock, live, host } = asTheyAre;
  return {
    ...asTheyAre,
    collector,
    logs: createLogsPort(store, bus),
    settings: () => {
      const { http, limits, collector } = running.current();
      const { host, port, maxBodyBytes, corsOrigins, trustedProxies } = http;
      const { rescanTimeoutMs } = collector;
      return {
        host,
        port,
        maxBodyBytes,
        rescanTimeoutMs,
        corsOrigins,
        trustedProxies,
        limits,
        // Asked for by few routes: the data of all zones costs an idle daemon 4 MB.
        get timezone() {
          return hostZone();
        },
      };
    },
    health: () =>
      healthOf({
        database: store.checkDatabase(),
        collector: collector.status(),
        snapshot: live.snapshot(),
        sample: host.sample(),
        clockDoubtMs: clockDoubtMs(),
        now: clock.now(),
      }),
    streams: {
      hub,
      history: events,
      samples: sampler,
      limits: () => {
        const { streams, streamsPerKey } = running.current().limits;
        return { streams, perKey: streamsPerKey };
      },
    },
    daemon: {
      status: () => ({
        uptimeSeconds: Math.floor((performance.now() - begun) / 1000),

        startedAt,
        configFile: running.file(),
        lastReload: running.lastReload(),

        streams: hub.counts(),
        eventLoopLagMs: lag.longestMs(),
        database: {
          sizeBytes: store.sizeBytes(),
          schemaVersion: store.schemaVersion,
          oldestSampleAt: oldestSampleAt(),
        },
      }),
      counters: () => countersOf(collector, hub, lag),
      reload: () => reload(printWithoutFile),
    },
  };
}

/** For answers over HTTP, which name no paths of the host. */
function printWithoutFile(problem: Problem): string {
  const line = problem.file === null || problem.line === null ? "" : `line ${problem.line}: `;
  return line + printProblem({ ...problem, file: null, line: null });
}
