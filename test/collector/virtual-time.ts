import type { Clock, Timers } from "../../src/domain/time/clock.ts";

export type VirtualTime = ReturnType<typeof createVirtualTime>;

interface Alarm {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
}

/** A clock that stands still until it is told to go. */
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
    /** Settles after `ms` of this time. */
    sleep: (ms: number): Promise<void> => new Promise((resolve) => void timers.after(ms, resolve)),
    /** Lets `ms` go by, timer by timer, with everything settled between two of them. */
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

/** Everything that waits for nothing but promises has been done. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
