import type { Clock } from "../domain/clock.ts";
import type { Log } from "../domain/log.ts";
import { type Bus, createBus, type Timers } from "../live/bus.ts";
import { createIds } from "../live/ids.ts";
import { createEvents, type Events } from "../store/events.ts";
import type { Store } from "../store/open.ts";
import type { LogSink } from "../system/log.ts";

export const busTimers: Timers = {
  set: (work, ms) => setTimeout(work, ms),
  clear: (timer) => clearTimeout(timer as Timer),
};

export interface EventRoom {
  readonly bus: Bus;
  /** What is stored; its holes are also those that the store could not take a note of yet. */
  readonly events: Events;
  /** Makes events of log lines: stored and streamed. */
  readonly logSink: LogSink;
}

/** The bus over the store: events are committed, then told. */
export function createEventRoom(store: Store, clock: Clock, log: Log): EventRoom {
  const events = createEvents(store);
  /** Highest id of which the store could take no note yet; 0 = none. */
  let owed = 0;
  const ids = createIds({
    clock,
    start: events.highestReserved(),
    reserve(highest) {
      try {
        events.reserve(highest);
        owed = 0;
      } catch {
        // The store fails: the note is taken with the next commit that it takes, and that none is told below.
        owed = highest;
      }
    },
    // Behind the event whose id it was, or that one would be queued second.
    onAhead: (aheadMs) =>
      queueMicrotask(() =>
        log.warn("Event ids run ahead of the clock: it was set back, or events come faster than one a ms", {
          aheadMs,
        }),
      ),
  });
  const bus = createBus({
    ids,
    sink: {
      ...events,
      transaction(work) {
        const reserved = owed;
        events.transaction(() => {
          if (reserved > 0) events.reserve(reserved);
          work();
        });
        if (owed === reserved) owed = 0;
      },
    },
    timers: busTimers,
    isWorthWaiting: store.busy.isWorthWaiting,
    onStore(state, cause) {
      if (state === "working") log.info("Events are stored again");
      else
        log.error(
          "Events cannot be stored: they go out and cannot be read again; checkouts and denials wait",
          {
            error: cause instanceof Error ? cause.message : String(cause),
          },
        );
    },
  });
  return {
    bus,
    events: {
      ...events,
      holesAbove: (after) => [...events.holesAbove(after), ...bus.holes().filter(({ to }) => to > after)],
    },
    logSink: ({ level, source, message, fields }) =>
      bus.emit({ type: "log", level, message, source, metadata: fields }),
  };
}
