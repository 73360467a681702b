import { ApiError } from "../domain/errors.ts";
import { textRule } from "../domain/text-types.ts";
import { DAY_MS, parseDuration } from "../domain/time/clock.ts";
import { beginsWithDate, isZone } from "../domain/time/zone.ts";
import { type Parameter, single } from "./query.ts";

const EPOCH_MS = /^\d{12,14}$/;
const ISO = /^(\d{4}-\d\d-\d\d)(?:[T ]([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d)(?:[.,](\d{1,9}))?)?(.*))?$/i;
/** Matches a UTC offset. A `+` in a query arrives as a blank. */
const OFFSET = /^([+ -])(0\d|1[0-4])(?::?([0-5]\d))?$/;

const EARLIEST = Date.parse("0000-01-01T00:00:00Z");

export const TIME_FORM =
  "a time: now, a duration back from now (-7d, -90m), ISO 8601 (2026-01-31, 2026-01-31T08:15:00Z; UTC without a zone) or epoch milliseconds";

const TIME_PATTERN = "^(now|-\\d+[smhdy]|\\d{12,14}|\\d{4}-\\d\\d-\\d\\d.*)$";

/** Declares a time. The value stays text, because only the route knows the reference of `-7d`. */
function time(description: string, example: string) {
  return single(
    { takes: TIME_FORM, read: (text) => (parseTime(text, Date.now()) === null ? undefined : text) },
    { type: "string", pattern: TIME_PATTERN, description, example },
  );
}

const ZONE = textRule("an IANA time zone, e.g. Europe/Berlin", isZone);

export function timezone(description: string): Parameter<string> {
  const said = `${description} Default: the daemon's zone.`;
  return single(ZONE, { type: "string", description: said, example: "Europe/Berlin" });
}

export const startTime = (description: string) => time(description, "-7d");
export const endTime = (description: string) => time(description, "now");

/** A range in epoch ms; null means open. */
export interface OpenRange {
  readonly start: number | null;
  readonly end: number | null;
}

const PARAMETERS = { start: "start", end: "end" };

/**
 * Parses a range. The end is exclusive, but a bare date includes its whole day. Throws INVALID_QUERY unless
 * start is before end.
 */
export function openRange(
  start: string | undefined,
  end: string | undefined,
  now: number,
  names = PARAMETERS,
): OpenRange {
  const from = start === undefined ? null : parseTime(start, now);
  const to = end === undefined ? null : parseTime(end, now);
  const found = { start: from?.at ?? null, end: to && to.at + (to.bareDate ? DAY_MS : 0) };
  checkRange(found.start, found.end, names);
  return found;
}

/** Parses `start` and `end`. Throws INVALID_QUERY. */
export type ReadRange<R> = (start: string | undefined, end: string | undefined, now: number) => R;

/** Maximum length of a range. A longer range is a typing error. */
const MAX_RANGE_MS = 20 * 366 * DAY_MS;

/** Parses a range; by default it ends now and lasts `days`. */
export function rangeOfDays(days: number): ReadRange<{ start: number; end: number }> {
  return (from, to, now) => {
    const open = openRange(from, to, now);
    const end = open.end ?? now;
    const start = open.start ?? end - days * DAY_MS;
    checkRange(start, end, PARAMETERS);
    if (end - start <= MAX_RANGE_MS) return { start, end };
    throw new ApiError("INVALID_QUERY", 'Query parameters "start" and "end" lie more than 20 years apart.');
  };
}

/** Throws INVALID_QUERY unless start is before end. */
function checkRange(start: number | null, end: number | null, names: typeof PARAMETERS): void {
  if (start === null || end === null || start < end) return;
  // An end at midnight may come from a bare date, so explain why the message shows another date than the
  // query.
  const hint = end % DAY_MS === 0 ? ` A date as "${names.end}" includes its whole day.` : "";
  throw new ApiError(
    "INVALID_QUERY",
    `Query parameter "${names.start}" must lie before "${names.end}": they are ${new Date(start).toISOString()} and ${new Date(end).toISOString()}.${hint}`,
  );
}

/** Returns null for an invalid time. */
export function parseTime(value: string, now: number): { at: number; bareDate: boolean } | null {
  if (value === "now") return { at: now, bareDate: false };
  if (value.startsWith("-")) {
    const back = parseDuration(value.slice(1));
    return back === null || now - back < EARLIEST ? null : { at: now - back, bareDate: false };
  }
  if (EPOCH_MS.test(value)) return { at: Number(value), bareDate: false };
  const [, day, hour, minute = "00", second = "00", fraction = "", zone = ""] = ISO.exec(value) ?? [];
  const [offset, sign, hours, minutes = "00"] = OFFSET.exec(zone) ?? [];
  if (day === undefined || !beginsWithDate(day)) return null;
  if (offset === undefined && !/^Z?$/i.test(zone)) return null;
  const time = `${hour ?? "00"}:${minute}:${second}.${fraction.padEnd(3, "0").slice(0, 3)}`;
  const from = offset === undefined ? "Z" : `${sign === "-" ? "-" : "+"}${hours}:${minutes}`;
  return { at: Date.parse(`${day}T${time}${from}`), bareDate: hour === undefined };
}
