import type { MaintenanceWindow } from "../config/config.ts";
import { fromWallClock, wallClock } from "../domain/time/zone.ts";
import { globPattern } from "./settings.ts";

const DAY_MS = 86_400_000;

/** Tells whether a server is in a maintenance window. */
export type InMaintenance = (server: string, at: number) => boolean;

/**
 * Windows that repeat do so at the same time of day on the clocks of this host, also over a change of theirs: `zone`
 * is the host's. A window is [start, start + duration).
 */
export function createMaintenance(windows: readonly MaintenanceWindow[], zone: string): InMaintenance {
  const list = windows.map((window) => ({ window, servers: window.servers.map(globPattern) }));
  return (server, at) =>
    list.some(
      ({ window, servers }) => servers.some((pattern) => pattern.test(server)) && isOpen(window, at, zone),
    );
}

/** Whether a window is open at an instant. */
export function isOpen({ startAt, durationMs, every }: MaintenanceWindow, at: number, zone: string): boolean {
  if (at < startAt) return false;
  if (every === null) return at < startAt + durationMs;
  const days = every === "day" ? 1 : 7;
  if (durationMs >= days * DAY_MS) return true;
  const about = Math.floor((at - startAt) / (days * DAY_MS));
  // The clocks may have been changed by an hour since: the occurrence before or behind it may be the one.
  return [about - 1, about, about + 1].some((count) => {
    if (count < 0) return false;
    const start = occurrence(startAt, count * days, zone);
    return start <= at && at < start + durationMs;
  });
}

/** The same time of day, some days later. */
function occurrence(startAt: number, days: number, zone: string): number {
  return fromWallClock(zone, wallClock(zone, startAt) + days * DAY_MS);
}
