import type { AlertRecord, AlertRule } from "../../domain/alerts.ts";
import { span } from "../../domain/time/clock.ts";

/** By rule: what was so, and how bad it was. No more than that, because it may have ended in several ways. */
const OVER: Readonly<Record<AlertRule, readonly [was: string, worst?: (value: number) => string]>> = {
  server_down: ["the server was down"],
  server_degraded: ["the server was degraded"],
  daemon_down: ["it was down"],
  seats: ["seats were short", (value) => `${value} % of them were in use`],
  expiry: [
    "its expiry was near or past",
    (value) => `${Math.abs(value)} days ${value < 0 ? "past it" : "were left"}`,
  ],
  denials: ["requests were denied", (value) => `${value} of them`],
  held_too_long: ["a seat was held too long", (value) => `${value} h`],
  stale: ["its numbers were stale"],
  unparsed: ["parts of the tool's output were not understood", (value) => `${value} lines of it`],
  totals_changed: ["its number of seats had changed"],
  disk: ["the disk was nearly full", (value) => `${value} % of it was in use`],
  clock: ["the clock was in doubt", (value) => `by ${value} days`],
};

/** What a note says of an alert that is over: what was so, for how long, and the worst value. */
export function overMessage(alert: Pick<AlertRecord, "rule" | "durationSeconds" | "peakValue">): string {
  const [was, worst] = OVER[alert.rule];
  const peak = alert.peakValue === null || worst === undefined ? "" : `; at worst ${worst(alert.peakValue)}`;
  return `${was} for ${span(alert.durationSeconds * 1000)}${peak}`;
}
