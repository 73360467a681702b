import type { MetricsEvent } from "../domain/events.ts";
import type { Clock, Timers } from "../domain/time/clock.ts";
import type { Bus, Published } from "./bus.ts";

/** Minimum time between two samples, regardless of the number of clients. */
const SAMPLE_SPACING_MS = 250;
/** Time between two samples that are kept for clients that resume; samples are kept for an hour. */
const RING_STEP_MS = 10_000;
const RING_LENGTH = 360;

interface SamplerDeps {
  readonly bus: Pick<Bus, "sample" | "subscribe">;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly read: () => Omit<MetricsEvent, "type" | "id" | "timestamp">;
}

export type Sampler = ReturnType<typeof createSampler>;

/** Takes one sample for all clients that want one, and keeps an hour of samples in memory. */
export function createSampler({ bus, clock, timers, read }: SamplerDeps) {
  const ring: Published[] = [];
  let keptSpan = -1;
  let last: { readonly published: Published; readonly at: number } | null = null;
  let takenAt = -Infinity;
  let waiting: (() => void) | null = null;
  let stopped = false;

  const unsubscribe = bus.subscribe((batch) => {
    for (const published of batch) {
      if (published.event.type !== "metrics") continue;
      last = { published, at: clock.now() };
      const span = Math.floor(clock.now() / RING_STEP_MS);
      if (span === keptSpan) continue;
      keptSpan = span;
      ring.push(published);
      if (ring.length > RING_LENGTH) ring.shift();
    }
  });

  const take = () => {
    waiting = null;
    takenAt = clock.now();
    bus.sample({ type: "metrics", ...read() });
  };

  const request = () => {
    if (waiting !== null || stopped) return;
    // A clock that was set back must not stop sampling.
    const wait = Math.min(takenAt + SAMPLE_SPACING_MS - clock.now(), SAMPLE_SPACING_MS);
    if (wait <= 0) take();
    else waiting = timers.after(wait, take);
  };

  let cancelBeat = () => {};
  const keepRing = () => {
    request();
    cancelBeat = timers.after(RING_STEP_MS - (clock.now() % RING_STEP_MS), keepRing);
  };
  keepRing();

  return {
    request,
    /** Returns the last sample if it is younger than {@link SAMPLE_SPACING_MS}, else null. */
    fresh: (): Published | null =>
      last !== null && Math.abs(clock.now() - last.at) < SAMPLE_SPACING_MS ? last.published : null,
    /** Returns samples of the last hour above an id, oldest first, one per {@link RING_STEP_MS}. */
    since: (id: number): Published[] => ring.filter((published) => published.id > id),
    stop(): void {
      stopped = true;
      unsubscribe();
      cancelBeat();
      waiting?.();
    },
  };
}
