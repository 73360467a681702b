import { messageOf } from "../domain/error-code.ts";
import type { Log } from "../domain/log.ts";
import { statusChanges } from "../domain/polls/poll-events.ts";
import { type Clock, systemTimers } from "../domain/time/clock.ts";
import { createBus, createIds, type Published } from "../live/bus.ts";
import type { Change } from "../live/live.ts";
import { createEvents } from "../store/events.ts";
import type { Store } from "../store/open/open.ts";
import type { LogSink } from "../system/log.ts";

export function createEventBus(store: Store, clock: Clock, log: Log) {
  const events = createEvents(store);
  /**
   * Highest id that could not be reserved in state.db; 0 if none. The next commit to licmond.db reserves it
   * in licmond.db.
   */
  let owed = 0;
  const ids = createIds({
    clock,
    start: events.highestReserved(),
    reserve(highest) {
      try {
        events.reserve(highest);
        owed = 0;
      } catch {
        // A lock on state.db must not block writes to licmond.db.
        owed = highest;
      }
    },
    // Queued as a microtask, so that the warning follows the event with this id.
    onAhead: (aheadMs) =>
      queueMicrotask(() =>
        log.warn(
          "Event ids run ahead of the clock: the clock was set back, or there was more than one event per ms",
          {
            aheadMs,
          },
        ),
      ),
  });
  const bus = createBus({
    ids,
    sink: {
      ...events,
      transaction(work) {
        const reserved = owed;
        events.transaction(() => {
          if (reserved > 0) events.reserveBeside(reserved);
          work();
        });
        if (owed === reserved) owed = 0;
      },
    },
    timers: systemTimers,
    isWorthWaiting: store.busy.isWorthWaiting,
    onStore(state, cause) {
      if (state === "working") return log.info("Storing events again");
      const consequence = "they are published but not kept; checkouts and denials wait";
      log.error(`Cannot store events: ${consequence}`, { error: messageOf(cause) });
    },
  });
  return {
    bus,
    events: {
      ...events,
      holesAbove: (after: number) => [
        ...events.holesAbove(after),
        ...bus.holes().filter(({ to }) => to > after),
      ],
    },
    logSink: (({ level, source, message, fields }) =>
      bus.emit({ type: "log", level, message, source, metadata: fields })) satisfies LogSink,
  };
}

/** Logs each denial without its user and host, which only the denial's event contains. */
export function createDenialLog(log: Log): (batch: readonly Published[]) => void {
  return (batch) => {
    for (const { event } of batch) {
      if (event.type !== "denial") continue;
      const { server, daemon, feature, code, outcome } = event;
      log.info("Seats denied", { server, daemon, feature, code, outcome });
    }
  };
}

/** Logs status changes of servers and daemons. The collector logs when a server stops or starts answering. */
export function createStatusLog(log: Log): (change: Change) => void {
  return ({ before, after }) => {
    for (const { server, daemon, from, to, reason } of statusChanges(before, after)) {
      const fields = { server, daemon: daemon ?? undefined, from, to, reason: reason ?? undefined };
      if (daemon !== null) {
        if (to === "up") log.info("license daemon is up again", fields);
        else log.warn("license daemon is down", fields);
      } else if (to === "degraded") log.warn("server is degraded", fields);
      else if (to === "down" && after.error === null) log.warn("server is down", fields);
      else if (to === "up" && from !== "unknown" && before?.error === null) {
        log.info("server is up again", fields);
      }
    }
  };
}
