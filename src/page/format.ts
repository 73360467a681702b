import { wordFor } from "../domain/plain-text.ts";
import { DAY_MS, span } from "../domain/time/clock.ts";
import type { Unit } from "../domain/words.ts";

export { span as duration };

const NUMBER = new Intl.NumberFormat("en-GB");
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });
const DAY_OF_YEAR = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeZone: "UTC" });
const CLOCK = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const DATE = new Intl.DateTimeFormat("en-GB", {
  day: "numeric",
  month: "short",
  hour: "2-digit",
  minute: "2-digit",
});
const DATE_OF_YEAR = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });

export const number = (value: number): string => NUMBER.format(value);

export const capital = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1);

export const plural = (count: number, one: string, many?: string): string =>
  `${number(count)} ${wordFor(count, one, many)}`;

const SHORT = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

/**
 * Returns the number format for a unit: `1M` for tokens, because their numbers can be too long for columns
 * made for seats.
 */
export const shortIn = (unit: Unit): typeof number => (unit === "seats" ? number : short);

const short = (value: number): string => (Math.abs(value) < 10_000 ? number(value) : SHORT.format(value));

/** Formats `420 ms`, `1.2 s`, then like other durations. */
export function milliseconds(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  return ms < 60_000 ? `${(ms / 1_000).toFixed(1)} s` : span(ms);
}

/** Replaces the days (`2026-11-24`) in a message of the daemon with readable ones. */
export const withDays = (message: string, now: number): string =>
  message.replaceAll(/\b\d{4}-\d\d-\d\d\b/g, (on) => day(on, now));

const yearOf = (at: number): number => new Date(at).getFullYear();

/** Formats `2026-11-24` as `24 Nov`, with the year if it is not the current one. */
export function day(on: string, now: number): string {
  const at = Date.parse(`${on}T12:00:00Z`);
  if (Number.isNaN(at)) return on;
  return (new Date(at).getUTCFullYear() === yearOf(now) ? DAY : DAY_OF_YEAR).format(at);
}

/**
 * Formats a moment in the reader's zone: `08:02` today, else `4 Nov, 07:40`, with the year if it is not the
 * current one.
 */
export function moment(at: number, now: number): string {
  if (new Date(at).toDateString() === new Date(now).toDateString()) return CLOCK.format(at);
  return (yearOf(at) === yearOf(now) ? DATE : DATE_OF_YEAR).format(at);
}

/** Formats the day of a moment in the reader's zone: `4 Nov`, with the year if it is not the current one. */
export const dateOf = (at: number, now: number): string =>
  day(new Date(at - 60_000 * new Date(at).getTimezoneOffset()).toISOString().slice(0, 10), now);

/** Returns the days until then; 0 within a day, negative in the past. */
export function daysUntil(at: number, now: number): number {
  return Math.floor((at - now) / DAY_MS);
}

/** Compares names by their numbers and without case: `seat9` before `seat10`. */
export const byName = new Intl.Collator("en", { numeric: true, sensitivity: "base" }).compare;

const SECONDS = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" });

/** Formats a moment to the second: `22 Nov, 10:31:05`, with the year if it is not the current one. */
export const exactMoment = (at: number, now: number): string => `${dateOf(at, now)}, ${SECONDS.format(at)}`;
