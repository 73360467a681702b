/** Spans in milliseconds. */
const SECOND_MS = 1_000;
export const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;
export const DAY_MS = 86_400_000;

/** Durations as the config and queries write them: a whole number and a unit, e.g. `60s`, `5m`, `24h`, `400d`, `5y`. */
const UNIT_MS = { s: SECOND_MS, m: MINUTE_MS, h: HOUR_MS, d: DAY_MS, y: 365 * DAY_MS } as const;

const DURATION = /^(\d{1,15})([smhdy])$/;

/** For messages: how a duration is written. */
export const DURATION_FORM = "a whole number and one of the units s m h d y";

/** Milliseconds of a duration; null when the text is none. A year has 365 days. */
export function parseDuration(text: string): number | null {
  const [, count, unit] = DURATION.exec(text) ?? [];
  if (count === undefined || unit === undefined) return null;
  const ms = Number(count) * UNIT_MS[unit as keyof typeof UNIT_MS];
  return Number.isSafeInteger(ms) ? ms : null;
}
