const SECOND_MS = 1_000;
export const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;
export const DAY_MS = 86_400_000;

/** Units of durations in the config and queries: `60s`, `5m`, `24h`, `400d`, `5y`. */
const UNIT_MS = { s: SECOND_MS, m: MINUTE_MS, h: HOUR_MS, d: DAY_MS, y: 365 * DAY_MS } as const;

const DURATION = /^(\d{1,15})([smhdy])$/;

export const DURATION_FORM = "a whole number and one of the units s m h d y";

/** Parses a duration into ms; null if malformed. A year has 365 days. */
export function parseDuration(text: string): number | null {
  const [, count, unit] = DURATION.exec(text) ?? [];
  if (count === undefined || unit === undefined) return null;
  const ms = Number(count) * UNIT_MS[unit as keyof typeof UNIT_MS];
  return Number.isSafeInteger(ms) ? ms : null;
}

const WEEKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/** Parses `Tue 10:30` into ms since Monday 00:00; null if malformed. */
export function parseMomentOfWeek(text: string): number | null {
  const [, name = "", hour, minute] = /^([A-Za-z]{3})[a-z]* (\d{1,2}):(\d\d)$/.exec(text) ?? [];
  const day = WEEKDAYS.indexOf(name.charAt(0).toUpperCase() + name.slice(1).toLowerCase());
  if (day === -1 || Number(hour) > 23 || Number(minute) > 59) return null;
  return day * DAY_MS + Number(hour) * HOUR_MS + Number(minute) * MINUTE_MS;
}

export interface Clock {
  /** Epoch milliseconds. */
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };

export interface Timers {
  /** Calls `run` after `ms` unless the returned function is called before. */
  after(ms: number, run: () => void): () => void;
}

export const systemTimers: Timers = {
  after(ms, run) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};

/** Calls `run` every `ms` until the returned function is called. */
export function repeat(ms: number, run: () => void): () => void {
  const timer = setInterval(run, ms);
  return () => clearInterval(timer);
}

/** Formats a time as ISO 8601 UTC with milliseconds. */
export function iso(epochMs: number): string;
export function iso(epochMs: number | null): string | null;
export function iso(epochMs: number | null): string | null {
  return epochMs === null ? null : new Date(epochMs).toISOString();
}

/** Formats a duration: `3 s`, `14 min`, `2 h 10 min`, `1 d 3 h`, `20 d`. Cuts off smaller units. */
export function span(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / SECOND_MS));
  const [minutes, hours, days] = [60, 3600, 86_400].map((unit) => Math.floor(seconds / unit)) as [
    number,
    number,
    number,
  ];
  if (minutes === 0) return `${seconds} s`;
  if (hours === 0) return `${minutes} min`;
  if (days === 0) return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`;
  return hours % 24 === 0 || days >= 10 ? `${days} d` : `${days} d ${hours % 24} h`;
}

/** Describes how far the clock is ahead of the stored time; negative means behind. */
export function clockMessage(offsetMs: number): string {
  const days = Math.floor(Math.abs(offsetMs) / DAY_MS);
  const far = days === 1 ? "1 day" : `${days} days`;
  return offsetMs > 0
    ? `The clock is ${far} ahead of the last stored time: retention catches up by one day per hour`
    : `The clock is ${far} behind the last stored time`;
}
