import type { Collector } from "../collector/collector.ts";
import type { MetricsEvent } from "../domain/events.ts";
import type { Snapshot } from "../domain/picture.ts";
import { summarise } from "../domain/summary.ts";
import type { Clock } from "../domain/time/clock.ts";
import { nextTurn } from "../domain/time/slices.ts";
import { repeat } from "../domain/time/timers.ts";
import type { DaemonCounters, HttpDeps } from "../http/deps.ts";
import type { Hub } from "../http/streams/hub.ts";
import type { Bus } from "../live/bus.ts";
import { whenFree } from "../store/database/busy.ts";
import { createLogs } from "../store/logs.ts";
import type { Store } from "../store/open/open.ts";
import { hostInfo, networkInterfaces } from "../system/host-info.ts";
import { createHostMetrics, type HostSample } from "../system/host-metrics.ts";

/** The host as the routes see it: the last sample, which the sampler renews every ten seconds. */
export type HostService = HttpDeps["host"] & { renew(): HostSample };

export function createHostService(directory: string, clock: Clock): HostService {
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
  host: HostService,
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

/** Clears stored log lines in steps, between which others have their turn. */
export function createLogsPort(store: Store, bus: Pick<Bus, "commit" | "lastPublished">): HttpDeps["logs"] {
  const logs = createLogs(store);
  return {
    async clear(before) {
      // What waits to be stored is before it.
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

export function countersOf(collector: Collector, hub: Hub, lag: LoopLag): DaemonCounters {
  const { polls, parseProblems } = collector.status();
  const { sse, websocket } = hub.counts();
  const { user, system } = process.cpuUsage();
  return {
    polls,
    parseProblems,
    streamClients: sse + websocket,
    memoryBytes: process.memoryUsage.rss(),
    cpuSeconds: (user + system) / 1e6,
    eventLoopLagMs: lag.longestMs(),
  };
}

/** How late the event loop is. */
export interface LoopLag {
  /** The longest delay of the last ten seconds or so, ms; null before the first look. */
  longestMs(): number | null;
  stop(): void;
}

const LOOK_MS = 250;
const LOOKS = 40;

/** Looks four times a second how much later than asked for its timer runs. */
export function createLoopLag(): LoopLag {
  const seen: number[] = [];
  let position = 0;
  let expected = performance.now() + LOOK_MS;
  const stop = repeat(LOOK_MS, () => {
    const now = performance.now();
    seen[position] = Math.max(0, now - expected);
    position = (position + 1) % LOOKS;
    expected = now + LOOK_MS;
  });
  return {
    longestMs: () => (seen.length === 0 ? null : Math.round(Math.max(...seen) * 100) / 100),
    stop,
  };
}
