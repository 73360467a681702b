import type { AlertRule, Severity } from "../domain/alerts.ts";
import type { Snapshot } from "../domain/picture.ts";
import type { PollOutcome } from "../domain/poll.ts";
import type { Emit } from "../export/family.ts";
import { createDenialMeter, createPollMeter } from "../export/meters.ts";

import { emitService, type ServiceView } from "../export/service-metrics.ts";
import type { Bus } from "../live/bus.ts";
import { readProcessMetrics } from "../system/host-metrics.ts";

/** The daemon's own metrics, for the scrape and the push. */
export interface Meters {
  /** Counts a poll. */
  polled(outcome: PollOutcome): void;
  /** One more part of the daemon that has metrics of its own; the answer takes it away again. */
  add(source: (emit: Emit) => void): () => void;
  emit(emit: Emit): void;
  stop(): void;
}

export interface MetersDeps {
  readonly bus: Pick<Bus, "subscribe">;
  readonly snapshot: () => Snapshot;
  readonly firing: () => readonly { readonly rule: AlertRule; readonly severity: Severity }[];
  readonly view: () => Omit<ServiceView, "firing" | "process">;
}

export function createMeters({ bus, snapshot, firing, view }: MetersDeps): Meters {
  const polls = createPollMeter();
  const denials = createDenialMeter();
  const sources = new Set<(emit: Emit) => void>();
  const unsubscribe = bus.subscribe((batch) => {
    for (const { event } of batch) if (event.type === "denial") denials.add(event);
  });

  return {
    polled: polls.add,
    add(source) {
      sources.add(source);
      return () => void sources.delete(source);
    },
    emit(emit) {
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
