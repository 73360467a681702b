import type { AlertRecord, AlertRule } from "../../domain/alerts.ts";
import { span } from "../../domain/time/clock.ts";

interface Over {
  /** What was so, after the server and the feature. */
  readonly was: string;
  readonly worst?: (value: number) => string;
}

/** By rule: no more than what was, because it may have ended in several ways. */
const OVER: Readonly<Record<AlertRule, Over>> = {
  server_down: { was: "the server was down" },
  server_degraded: { was: "the server was degraded" },
  daemon_down: { was: "it was down" },
  seats: { was: "seats were short", worst: (value) => `${value} % of them were in use` },
  expiry: {
    was: "its expiry was near or past",
    worst: (days) => (days < 0 ? `${-days} days past it` : `${days} days were left`),
  },
  denials: { was: "requests were denied", worst: (value) => `${value} of them` },
  held_too_long: { was: "a seat was held too long", worst: (value) => `${value} h` },
  stale: { was: "its numbers were stale" },
  unparsed: {
    was: "parts of the tool's output were not understood",
    worst: (value) => `${value} lines of it`,
  },
  totals_changed: { was: "its number of seats had changed" },
  disk: { was: "The disk was nearly full", worst: (value) => `${value} % of it was in use` },
  clock: { was: "The clock was in doubt", worst: (value) => `by ${value} days` },
};

/** What a note says of an alert that is over: what was so, for how long, and the worst value. */
export function overMessage(alert: Pick<AlertRecord, "rule" | "durationSeconds" | "peakValue">): string {
  const { was, worst } = OVER[alert.rule];
  const peak = alert.peakValue === null || worst === undefined ? "" : `; at worst ${worst(alert.peakValue)}`;
  return `${was} for ${span(alert.durationSeconds * 1000)}${peak}`;
}
