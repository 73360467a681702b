import type { Expiry } from "../../domain/reading.ts";
import { daysLeft } from "../../domain/stats/expirations.ts";
import type { PictureRule } from "./rule.ts";

/** Dates from then on are how some vendors write "permanent". */
const FIRST_PERMANENT_YEAR = 2090;

/**
 * Licenses that expire: one level for each limit passed, and one more once expired. The date of the last good
 * reading comes near whether or not the server answers, so stale features count; only a fresh reading shows that
 * a license was renewed.
 */
export const expiry: PictureRule = ({ server, features }, { at, settingsOf }, see) => {
  for (const { daemon, name, expiry: date, state } of features) {
    const limits = settingsOf(daemon, name).expiryDays;
    const days = daysLeft(date, server.timezone, at);
    const level = expiryLevel(date, days, limits);
    if (level === null || (level === 0 && state !== "ok" && state !== "partial")) continue;
    see({ daemon, feature: name, detail: null }, level, () => {
      const over = days !== null && days < 0;
      const passed = limits.filter((limit) => days !== null && days <= limit);
      return {
        severity: over ? "critical" : "warning",
        message: over
          ? `The license of ${name} expired on ${date.expiresOn}`
          : `The license of ${name} expires on ${date.expiresOn}, ${when(days ?? 0)}`,
        value: days,
        threshold: over || passed.length === 0 ? 0 : Math.min(...passed),
      };
    });
  }
};

/**
 * How many of the limits are passed, and one more when it is expired; 0 for what never expires; null when no date is
 * known. `days` are those left.
 */
export function expiryLevel(
  { expiresOn, permanent }: Expiry,
  days: number | null,
  limits: readonly number[],
): number | null {
  if (permanent) return 0;
  if (days === null || expiresOn === null) return null;
  if (Number(expiresOn.slice(0, 4)) >= FIRST_PERMANENT_YEAR) return 0;
  return days < 0 ? limits.length + 1 : limits.filter((limit) => days <= limit).length;
}

function when(days: number): string {
  if (days === 0) return "today";
  return days === 1 ? "tomorrow" : `in ${days} days`;
}
