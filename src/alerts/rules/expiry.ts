import type { Expiry } from "../../domain/reading.ts";
import type { PictureRule } from "./rule.ts";

const DAY_MS = 86_400_000;
/** Dates from then on are how some vendors write "permanent". */
const FIRST_PERMANENT_YEAR = 2090;

/**
 * Licenses that expire: one level for each limit passed, and one more once expired. The date of the last good
 * reading comes near whether or not the server answers, so stale features count; only a fresh reading shows that
 * a license was renewed.
 */
export const expiry: PictureRule = ({ features }, { at, settingsOf }, see) => {
  for (const { daemon, name, expiry: date, state } of features) {
    const limits = settingsOf(daemon, name).expiryDays;
    const level = expiryLevel(date, at, limits);
    if (level === null || (level === 0 && state !== "ok" && state !== "partial")) continue;
    see({ daemon, feature: name, detail: null }, level, () => {
      const days = daysLeft(date, at);
      const over = days !== null && days < 0;
      return {
        severity: over ? "critical" : "warning",
        message: over
          ? `The license of ${name} expired on ${date.expiresOn}`
          : `The license of ${name} expires on ${date.expiresOn}, in ${days} ${days === 1 ? "day" : "days"}`,
        value: days,
        threshold: over
          ? 0
          : (limits.filter((limit) => days !== null && days <= limit).sort((a, b) => a - b)[0] ?? 0),
      };
    });
  }
};

/** Limits passed, and one more when expired; 0 for what never expires; null when the date is not known. */
export function expiryLevel(
  { expiresAt, expiresOn, permanent }: Expiry,
  at: number,
  limits: readonly number[],
): number | null {
  if (permanent) return 0;
  if (expiresAt === null || expiresOn === null) return null;
  if (Number(expiresOn.slice(0, 4)) >= FIRST_PERMANENT_YEAR) return 0;
  const left = expiresAt - at;
  const passed = limits.filter((days) => left < (days + 1) * DAY_MS).length;
  return left < 0 ? limits.length + 1 : passed;
}

/** Whole days left, as everywhere: negative = expired; null when there is no date. */
export function daysLeft({ expiresAt }: Expiry, at: number): number | null {
  return expiresAt === null ? null : Math.floor((expiresAt - at) / DAY_MS);
}
