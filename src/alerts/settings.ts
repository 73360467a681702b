import type { AlertSettings, Config, MaintenanceWindow } from "../config/config.ts";
import { nameMatcher } from "../domain/plain-text.ts";
import { DAY_MS } from "../domain/time/clock.ts";
import { fromWallClock, hostZone, wallClock } from "../domain/time/zone.ts";
import { createTargets } from "./notify/targets.ts";

export interface SubjectSettings extends AlertSettings {
  readonly enabled: boolean;
}

/** Returns the settings of a subject. A null parameter means that the subject has no such part. */
export type SettingsOf = (
  server: string | null,
  daemon: string | null,
  feature: string | null,
) => SubjectSettings;

/** Returns settings by subject. Only the last matching override applies, on top of the general settings. */
export function createSettings({ overrides, ...general }: Config["alerts"]): SettingsOf {
  const base: SubjectSettings = { ...general, enabled: true };
  const rules = overrides.toReversed().map(({ server, daemon, feature, enabled, settings }) => ({
    // An override for features does not affect alerts about the server.
    fits: [server, daemon, feature].map((glob) => nameMatcher(glob === null ? null : [glob])),
    settings: { ...base, ...settings, enabled },
  }));
  const kept = new Map<string, SubjectSettings>();
  return (server, daemon, feature) => {
    if (rules.length === 0) return base;
    const names = [server, daemon, feature];
    const find = () => rules.find(({ fits }) => fits.every((fit, at) => fit(names[at] ?? null)));
    const key = names.map((part) => part ?? "\0").join("\0");
    return kept.getOrInsertComputed(key, () => find()?.settings ?? base);
  };
}

export type InMaintenance = (server: string, at: number) => boolean;

/**
 * Creates a function that reports whether a server is in a maintenance window. `zone` is the zone of the
 * host, see {@link isOpen}.
 */
export function createMaintenance(windows: readonly MaintenanceWindow[], zone = hostZone): InMaintenance {
  const list = windows.map((window) => ({ window, isServer: nameMatcher(window.servers) }));
  return (server, at) => list.some(({ window, isServer }) => isServer(server) && isOpen(window, at, zone()));
}

export function isOpen(window: MaintenanceWindow, at: number, zone: string): boolean {
  return occurrences(window, at, zone).running !== null;
}

/** One occurrence of a window: [start, end), epoch ms. `end` is null if the next one begins earlier. */
export interface Occurrence {
  readonly start: number;
  readonly end: number | null;
}

/**
 * Returns the occurrence that is open at an instant (`running`) and the next one. Windows repeat at the
 * same local time in the zone, also across clock changes.
 */
export function occurrences({ startAt, durationMs, every }: MaintenanceWindow, at: number, zone: string) {
  const periodMs = every === "day" ? DAY_MS : 7 * DAY_MS;
  const about = every === null ? 0 : Math.max(0, Math.floor((at - startAt) / periodMs));
  // A clock change may shift an occurrence by an hour, so check its neighbors, too.
  const counts =
    every === null ? [0] : [about - 1, about, about + 1, about + 2].filter((count) => count >= 0);
  const isEndless = every !== null && durationMs >= periodMs;
  const found = counts.map((count): Occurrence => {
    const start = count === 0 ? startAt : fromWallClock(zone, wallClock(zone, startAt) + count * periodMs);
    return { start, end: isEndless ? null : start + durationMs };
  });
  return {
    running: found.findLast(({ start, end }) => start <= at && at < (end ?? Infinity)) ?? null,
    next: found.find(({ start }) => start > at) ?? null,
  };
}

/** Returns the settings of a config for alerts and their notifications. */
export function alertSettings({
  alerts,
  http,
  maintenance,
  notifications,
}: Pick<Config, "alerts" | "http" | "maintenance" | "notifications">) {
  return {
    settingsOf: createSettings(alerts),
    inMaintenance: createMaintenance(maintenance),
    targets: createTargets(notifications),
    publicUrl: http.publicUrl,
  };
}
