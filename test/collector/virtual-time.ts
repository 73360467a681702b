import type { Clock, Timers } from "../../src/domain/time/clock.ts";

export type VirtualTime = ReturnType<typeof createVirtualTime>;

interface Alarm {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
}

/** A clock that advances only on request. */
export function createVirtualTime(start = Date.UTC(2026, 0, 1)) {
  const clock: Clock = { now: () => now };
  let now = start;
  let order = 0;
  const alarms = new Set<Alarm>();
  const timers: Timers = {
    after(ms, run) {
      const alarm = { at: now + Math.max(0, ms), order: order++, run };
      alarms.add(alarm);
      return () => void alarms.delete(alarm);
    },
  };
  const next = (until: number): Alarm | undefined =>
    [...alarms].filter(({ at }) => at <= until).sort((a, b) => a.at - b.at || a.order - b.order)[0];

  return {
    clock,
    timers,
    /** Resolves after `ms` of virtual time. */
    sleep: (ms: number): Promise<void> => new Promise((resolve) => void timers.after(ms, resolve)),
    /** Advances the time by `ms`, timer by timer, and lets promises settle in between. */
    async pass(ms: number): Promise<void> {
      const until = now + ms;
      await settled();
      for (let alarm = next(until); alarm !== undefined; alarm = next(until)) {
        alarms.delete(alarm);
        now = Math.max(now, alarm.at);
        alarm.run();
        await settled();
      }
      now = until;
    },
  };
}

/** Resolves when all pending promises have settled. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
