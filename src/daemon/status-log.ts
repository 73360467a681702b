import type { Log } from "../domain/log.ts";
import { statusChanges } from "../domain/poll-events.ts";
import type { Change } from "../live/live.ts";

/**
 * Writes a line when a server is degraded or whole again, and when one of its daemons goes down or is back. That a
 * server does not answer and that it answers again is the collector's line: once each, not twice.
 */
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
