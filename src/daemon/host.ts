import type { MetricsEvent } from "../domain/events.ts";
import type { Snapshot } from "../domain/picture.ts";
import { summarise } from "../domain/summary.ts";
import type { Clock } from "../domain/time/clock.ts";
import { repeat } from "../domain/time/timers.ts";
import { hostInfo, networkInterfaces } from "../system/host-info.ts";
import { createHostMetrics } from "../system/host-metrics.ts";

export type HostService = ReturnType<typeof createHostService>;

/** The host as the routes see it: the last sample, which the sampler renews every ten seconds. */
export function createHostService(directory: string, clock: Clock) {
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
export function sampleReader(host: HostService, snapshot: () => Snapshot) {
  let version = -1;
  let licenses: NonNullable<MetricsEvent["licenses"]> = { total: null, used: null, utilization: null };
  return (): Omit<MetricsEvent, "type" | "id" | "timestamp"> => {
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

const LOOK_MS = 250;
const LOOKS = 40;

export type LoopLag = ReturnType<typeof createLoopLag>;

/** How late the event loop is: looks four times a second how much later than asked for its timer runs. */
export function createLoopLag() {
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
    /** The longest delay of the last ten seconds or so, ms; null before the first look. */
    longestMs: () => (seen.length === 0 ? null : Math.round(Math.max(...seen) * 100) / 100),
    stop,
  };
}
