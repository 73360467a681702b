import type { AlertSettings, Config, MaintenanceWindow } from "../config/config.ts";
import { globPattern } from "../domain/plain-text.ts";
import { DAY_MS } from "../domain/time/clock.ts";
import { fromWallClock, hostZone, wallClock } from "../domain/time/zone.ts";

/** What holds for one server, daemon or feature. */
export interface SubjectSettings extends AlertSettings {
  readonly enabled: boolean;
}

/** Null = the subject has no such part. */
export type SettingsOf = (
  server: string | null,
  daemon: string | null,
  feature: string | null,
) => SubjectSettings;

/** Settings by subject. The last override that fits counts, and it alone, over the general settings. */
export function createSettings({ overrides, ...general }: Config["alerts"]): SettingsOf {
  const base: SubjectSettings = { ...general, enabled: true };
  const rules = overrides.toReversed().map((override) => ({
    fits: [matcher(override.server), matcher(override.daemon), matcher(override.feature)] as const,
    settings: { ...base, ...override.settings, enabled: override.enabled },
  }));
  const kept = new Map<string, SubjectSettings>();
  return (server, daemon, feature) => {
    if (rules.length === 0) return base;
    const key = [server, daemon, feature].map((part) => part ?? "\0").join("\0");
    const fits = () => rules.find(({ fits: [a, b, c] }) => a(server) && b(daemon) && c(feature))?.settings;
    const found = kept.get(key) ?? fits() ?? base;
    kept.set(key, found);
    return found;
  };
}

/** Null fits everything; a glob fits no absent part, so that an override of features leaves the server's alerts alone. */
function matcher(glob: string | null): (name: string | null) => boolean {
  if (glob === null) return () => true;
  const pattern = globPattern(glob);
  return (name) => name !== null && pattern.test(name);
}

/** Whether a server is in a maintenance window. */
export type InMaintenance = (server: string, at: number) => boolean;

/** `zone` is the host's, see {@link isOpen}. */
export function createMaintenance(windows: readonly MaintenanceWindow[], zone = hostZone): InMaintenance {
  const list = windows.map((window) => ({ window, servers: window.servers.map(globPattern) }));
  return (server, at) =>
    list.some(
      ({ window, servers }) => servers.some((pattern) => pattern.test(server)) && isOpen(window, at, zone()),
    );
}

/**
 * Whether a window is open at an instant: it is [start, start + duration). Windows that repeat do so at the same time of
 * day on the clocks of the zone, also over a change of theirs.
 */
export function isOpen({ startAt, durationMs, every }: MaintenanceWindow, at: number, zone: string): boolean {
  if (at < startAt) return false;
  if (every === null) return at < startAt + durationMs;
  const periodMs = every === "day" ? DAY_MS : 7 * DAY_MS;
  if (durationMs >= periodMs) return true;
  const about = Math.floor((at - startAt) / periodMs);
  // The clocks may have been changed by an hour since: the occurrence before or after it may be the one.
  return [about - 1, about, about + 1].some((count) => {
    const start = fromWallClock(zone, wallClock(zone, startAt) + count * periodMs);
    return count >= 0 && start <= at && at < start + durationMs;
  });
}
