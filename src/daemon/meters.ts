import type { Config } from "../config/config.ts";
import type { AlertRule, Severity } from "../domain/alerts.ts";
import type { MetricsEvent } from "../domain/events.ts";
import type { Log } from "../domain/log.ts";
import type { Snapshot } from "../domain/picture.ts";
import { summarise } from "../domain/summary.ts";
import { type Clock, repeat, type Timers } from "../domain/time/clock.ts";
import type { Emit } from "../export/family.ts";
import { createDenialMeter, createPollMeter, emitService, type ServiceView } from "../export/meters.ts";
import type { Writer } from "../export/remote-write/writer.ts";
import type { Bus } from "../live/bus.ts";
import { hostInfo, networkInterfaces } from "../system/host-info.ts";
import { createHostMetrics, readProcessMetrics } from "../system/host-metrics.ts";

export type HostService = ReturnType<typeof createHostService>;

/** Provides host data for routes from the last sample, which is renewed every ten seconds. */
export function createHostService(directory: string, clock: Clock) {
  const metrics = createHostMetrics(directory, clock);
  const info = hostInfo();
  let last = metrics.sample();
  return {
    info: () => info,
    interfaces: () => networkInterfaces(),
    sample: () => last,
    renew: () => (last = metrics.sample()),
  };
}

/** Creates a reader of metrics samples. Totals are computed once per snapshot. */
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

/** Measures the lag of the event loop: four times a second, how late a timer runs. */
export function createLoopLag() {
  const seen: number[] = [];
  let expected = performance.now() + LOOK_MS;
  const stop = repeat(LOOK_MS, () => {
    const now = performance.now();
    seen.push(Math.max(0, now - expected));
    if (seen.length > LOOKS) seen.shift();
    expected = now + LOOK_MS;
  });
  return {
    /** Longest delay in about the last ten seconds, in ms; null before the first sample. */
    longestMs: () => (seen.length === 0 ? null : Math.round(Math.max(...seen) * 100) / 100),
    stop,
  };
}

interface MetersDeps {
  readonly bus: Pick<Bus, "subscribe">;
  readonly snapshot: () => Snapshot;
  readonly firing: () => readonly { readonly rule: AlertRule; readonly severity: Severity }[];
  readonly view: () => Omit<ServiceView, "firing" | "process">;
}

export type Meters = ReturnType<typeof createMeters>;

export function createMeters({ bus, snapshot, firing, view }: MetersDeps) {
  const polls = createPollMeter();
  const denials = createDenialMeter();
  const sources: ((emit: Emit) => void)[] = [];
  const unsubscribe = bus.subscribe((batch) => {
    for (const { event } of batch) if (event.type === "denial") denials.add(event);
  });

  return {
    polled: polls.add,
    add: (source: (emit: Emit) => void) => void sources.push(source),
    emit(emit: Emit): void {
      polls.emit(
        emit,
        snapshot().servers.map(({ server }) => server.id),
      );
      denials.emit(emit);
      emitService({ ...view(), firing: firing(), process: readProcessMetrics() }, emit);
      for (const source of sources) source(emit);
    },
    stop: unsubscribe,
  };
}

interface RemoteWriteDeps {
  readonly config: () => Config["remoteWrite"];
  readonly snapshot: () => Snapshot;
  readonly meters: Pick<Meters, "emit" | "add">;
  /** `host:port` of this daemon: the name that a scraper would use. */
  readonly instance: string;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
}

/**
 * Pushes metrics if the config enables it. The code is loaded only then, because most daemons are scraped.
 */
export function createRemoteWrite(deps: RemoteWriteDeps) {
  const { config, meters, instance, log } = deps;
  let writer: Writer | null = null;
  /** The last change, for which the next change waits. */
  let changing: Promise<void> = Promise.resolve();
  let stopped = false;
  meters.add((emit) => writer?.emit(emit));

  async function change(): Promise<void> {
    const wanted = stopped ? null : config();
    if (wanted === null) {
      const former = writer;
      writer = null;
      return former?.stop();
    }
    writer ??= await makeWriter(deps);
    const { labels, ...settings } = wanted;
    writer.configure({ ...settings, labels: Object.entries({ job: "licmond", instance, ...labels }) });
  }

  function configured(): void {
    changing = changing.then(change).catch((error: unknown) => {
      log.error("Cannot set up the export of metrics", { error: String(error) });
    });
  }

  return {
    configured,
    async stop() {
      stopped = true;
      configured();
      await changing;
    },
  };
}

async function makeWriter({ snapshot, meters, clock, timers, log }: RemoteWriteDeps): Promise<Writer> {
  const { createWriter } = await import("../export/remote-write/writer.ts");
  const { post } = await import("../export/remote-write/request.ts");
  return createWriter({ snapshot, service: meters.emit, post, clock, timers, random: Math.random, log });
}
