import type { AlertRule } from "../../domain/alerts.ts";
import { number, plural } from "../format.ts";

/** The condition of a server in one word. */
export const KIND_WORDS = {
  down: "Down",
  unread: "Not read",
  stale: "Stale",
  degraded: "Degraded",
  partial: "Partial",
  never: "Not polled yet",
  off: "Switched off",
  fine: "Fine",
};

/** Texts of the overview; `words-pages.ts` has those of servers, alerts and wall. */
export const daily = {
  servers: (fine: number, all: number) =>
    `${fine === all ? "All" : fine === 0 ? "None of" : `${number(fine)} of`} ${number(all)} servers`,
  areFine: (fine: number) => (fine <= 1 ? " is fine" : " are fine"),
  allOff: (all: number) =>
    all === 1
      ? "The only server is switched off in the config."
      : `All ${number(all)} servers are switched off in the config.`,
  nothingWrong: ", and nothing needs attention.",
  things: (count: number) => plural(count, "alert"),
  need: (count: number) => (count === 1 ? " needs attention." : " need attention."),
  asOf: (time: string) => `As of ${time}:`,
  members: (up: number, all: number) => `${up} of ${all} members`,
  runsOn: (members: string) => `runs on ${members}`,
  runsWithout: (daemons: string) => `runs without ${daemons}`,
  noDaemon: "answers, but none of its daemons works",
  conditions: {
    down: "does not answer",
    unread: "could not be read",
    stale: "is stale",
    degraded: "is degraded",
    partial: "was read in part",
    never: "was not polled yet",
    off: "is switched off in the config",
    fine: "is fine",
  },
  kinds: KIND_WORDS,

  state: "State of the site",
  seatsInUse: "seats in use",
  people: "people",
  waiting: "waiting",
  deniedToday: "denied today",
  staleFeatures: (count: number) => `, ${plural(count, "feature")} stale`,

  attention: "Needs attention",
  allAlerts: "All alerts",
  nothing: "Nothing needs attention.",
  alertsUnknown: "Alerts are not known now.",
  handled: (count: number) => `${number(count)} acknowledged or silenced`,
  firstOf: (shown: number, all: number) => (shown < all ? `${shown} of ${number(all)}` : number(all)),
  marks: {
    crit: "Crit",
    warn: "Warn",
    stale: "Stale",
    partial: "Partial",
    unknown: "New",
    info: "Info",
    ok: "Fine",
  },
  features: (count: number) => plural(count, "feature"),
  expireTogether: "expire",
  /** Describes the problem, after the name of the feature or server. */
  alerts: (value: number | null, daemon: string | null): Record<AlertRule, string> => ({
    server_down: "was down",
    server_degraded: "was degraded",
    daemon_down: `runs without ${daemon ?? "a daemon"}`,
    seats: (value ?? 0) >= 100 ? "is full" : `is ${Math.floor(value ?? 0)} % in use`,
    expiry: (value ?? 0) < 0 ? "expired" : "expires",
    denials: "denies requests",
    held_too_long: "is held for too long",
    stale: "was stale",
    unparsed: "returns lines that licmond does not know",
    totals_changed: "has a changed total",
    disk: "The disk is nearly full",
    clock: "has a different time than this host",
    outbox: "Too many facts wait for the hub",
    site_silent: "is silent",
    site_behind: "is behind",
    site_clock: "has a different time than the hub",
    site_version: "has an incompatible version",
    site_refused: "sends facts that cannot be stored",
    site_clone: "runs twice",
  }),

  tight: "Full or nearly full",
  ofFeatures: (tight: number, all: number) => `${number(tight)} of ${plural(all, "feature")}`,
  allOf: (count: number) => `All ${number(count)}`,
  nothingTight: "Nothing is nearly full.",
  expiring: "Expiring",
  nextDays: (days: number) => `next ${days} days`,
  calendar: "Calendar",
  nothingExpires: "Nothing expires.",
  several: (features: number, seats: number) => `${plural(features, "feature")}, ${plural(seats, "seat")}`,
  spark: (used: string, total: string) => `Seats in use over 24 h, now ${used} of ${total}`,
  seats24: "Seats in use, 24 h",
  toNow: (from: string, zone: string) => `${from} to now, ${zone}`,
  known: (percent: number) => `${percent} % covered`,
  tooMany: (most: number) => `The sum of 24 hours is drawn for up to ${number(most)} features.`,
  notRead: "Use cannot be read now.",
  notReadYet: "No data yet.",
  noReadings: "The chart appears after some minutes of data.",
  held: "Longest held",
  nobodyHolds: "No checkouts.",
  noDenials: "Denied requests are not shown here.",
  denied: "Denied today",
  sinceMidnight: "00:00 to now",
  deniedUnread: "Denials cannot be read now.",
  nobodyDenied: "No request was denied.",
  deniedUnknown: (servers: readonly string[], why: string) => {
    const others = servers.length > 3 ? [`and ${plural(servers.length - 3, "other server")}`] : [];
    return `Not known: ${[...servers.slice(0, 3), ...others].join(", ")}. ${why}.`;
  },
  ack: "Ack",
  cancel: "Cancel",
} as const;
