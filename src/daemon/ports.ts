import type { Collector } from "../collector/collector.ts";
import type { Clock } from "../domain/clock.ts";
import type { MetricsEvent } from "../domain/events.ts";
import type { Snapshot } from "../domain/picture.ts";
import { summarise } from "../domain/summary.ts";
import type { DaemonCounters, HostPort, LogsPort } from "../http/deps.ts";
import type { Hub } from "../http/streams/hub.ts";
import type { Bus } from "../live/bus.ts";
import { whenFree } from "../store/busy.ts";
import { createLogs } from "../store/logs.ts";
import type { Store } from "../store/open.ts";
import { hostInfo, networkInterfaces } from "../system/host-info.ts";
import { createHostMetrics, type HostSample } from "../system/host-metrics.ts";
import type { LoopLag } from "./loop-lag.ts";

/** The host as the routes see it: the last sample, which the sampler renews every ten seconds. */
export interface HostRoom extends HostPort {
  renew(): HostSample;
}

export function createHostRoom(directory: string, clock: Clock): HostRoom {
  const metrics = createHostMetrics({ directory, clock });
  const info = hostInfo();
  let last = metrics.sample();
  return {
    info: () => info,
    interfaces: () => networkInterfaces(),
    sample: () => last,
    renew: () => (last = metrics.sample()),
  };
}

/** Reads a metrics sample; totals are counted once a snapshot. */
export function sampleReader(
  host: HostRoom,
  snapshot: () => Snapshot,
): () => Omit<MetricsEvent, "type" | "id" | "timestamp"> {
  let version = -1;
  let licenses: NonNullable<MetricsEvent["licenses"]> = { total: null, used: null, utilization: null };
  return () => {
    const system = host.renew();
    const now = snapshot();
    if (now.version !== version) {
      const { seats, utilization } = summarise(now);
      licenses = { total: seats.total, used: seats.used, utilization };
      version = now.version;
    }
    return { cpu: system.cpu, memory: system.memory, system: { ...system }, licenses };
  };
}

/** Stored log lines. Clearing goes in steps between which others have their turn. */
export function createLogsPort(store: Store, bus: Pick<Bus, "commit" | "lastPublished">): LogsPort {
  const logs = createLogs(store);
  return {
    recent: logs.recent,
    search: logs.search,
    stats: logs.stats,
    async clear(before) {
      // What waits to be stored is before it.
      await bus.commit(() => {}, []);
      const through = bus.lastPublished();
      for (let cleared = 0; ; ) {
        const step = await whenFree(() => logs.clearStep(before, through), store.busy);
        if (step === 0) return cleared;
        cleared += step;
        await new Promise<void>((resume) => setImmediate(resume));
      }
    },
  };
}

export function countersOf(collector: Collector, hub: Hub, lag: LoopLag): DaemonCounters {
  const { outcomes, parseProblems } = collector.status();
  const { ok, partial, ...failed } = outcomes;
  const { sse, websocket } = hub.counts();
  const { user, system } = process.cpuUsage();
  return {
    polls: { ok, partial, failed: Object.values(failed).reduce((sum, count) => sum + count, 0) },
    parseProblems: parseProblems.lines,
    streamClients: sse + websocket,
    memoryBytes: process.memoryUsage.rss(),
    cpuSeconds: (user + system) / 1e6,
    eventLoopLagMs: lag.longestMs(),
  };
}
