import type { AlertRule, Severity } from "../../domain/alerts.ts";
import type { DenialState, PartStatus } from "../../domain/words.ts";
import { number } from "../format.ts";

const plural = (count: number, one: string, many = `${one}s`) =>
  `${number(count)} ${count === 1 ? one : many}`;

/** How a server is, in a word. */
const KIND_WORDS = {
  down: "Down",
  unread: "Not read",
  stale: "Stale",
  degraded: "Degraded",
  partial: "Partial",
  never: "Not polled yet",
  off: "Switched off",
  fine: "Fine",
};

/** Words of the overview, the servers and the alerts. */
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
  /** What is wrong, behind the name of the feature or server. */
  alerts: (value: number | null, daemon: string | null): Record<AlertRule, string> => ({
    server_down: "was down",
    server_degraded: "was degraded",
    daemon_down: `runs without ${daemon ?? "a daemon"}`,
    seats: (value ?? 0) >= 100 ? "is full" : `is ${Math.floor(value ?? 0)} % in use`,
    expiry: (value ?? 0) < 0 ? "expired" : "expires",
    denials: "denies requests",
    held_too_long: "is held for too long",
    stale: "was stale",
    unparsed: "says lines that are not understood",
    totals_changed: "has another total",
    disk: "The disk is nearly full",
    clock: "has another time than this host",
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

  allWell: "all is well",
  notLiveFor: (span: string) => `not live for ${span}`,
  screen: (at: number, all: number, isHeld: boolean) => `${at} of ${all}${isHeld ? ", held" : ""}`,
  noSuchServers: (ids: readonly string[]) => `Not in the config: ${ids.join(", ")}`,
  notFine: (count: number, all: number) => `${number(count)} of ${plural(all, "server")} not fine.`,
  sums: (used: string, total: string, waiting: number | null) =>
    `${used} of ${total} seats in use${waiting ? `, ${number(waiting)} waiting` : ""}.`,
  nextExpiry: (on: string, what: string) => `Next expiry ${on}: ${what}`,

  troubled: "Not fine",
  noLabel: "without label",
  spark: (used: string, total: string) => `Seats in use over 24 h, now ${used} of ${total}`,
  seats24: "Seats in use, 24 h",
  toNow: (from: string, zone: string) => `${from} to now, ${zone}`,
  known: (percent: number) => `${percent} % covered`,
  tooMany: (most: number) => `The sum of 24 hours is drawn for up to ${number(most)} features.`,
  notRead: "What was in use cannot be read now.",
  notReadYet: "Nothing was read yet.",
  noReadings: "Drawn as soon as there are readings of some minutes.",
  held: "Longest held",
  nobodyHolds: "Nobody holds a seat.",
  noDenials: "Denied requests are not shown here.",
  denied: "Denied today",
  sinceMidnight: "00:00 to now",
  deniedUnread: "Denials cannot be read now.",
  nobodyDenied: "No request was denied.",
  deniedUnknown: (servers: readonly string[], state: DenialState) => {
    const others = servers.length > 3 ? [`and ${plural(servers.length - 3, "other server")}`] : [];
    const why = state === "off" ? "log_file is not set" : "the log cannot be read";
    return `${[...servers.slice(0, 3), ...others].join(", ")}: not known, ${why}.`;
  },

  searchServers: "Search servers",
  searchServersHint: "Server, host, daemon or label",
  anyKind: "State: any",
  kind: (kind: string) => `State: ${KIND_WORDS[kind as keyof typeof KIND_WORDS]}`,
  anyManager: "Manager: any",
  manager: (name: string) => `Manager: ${name}`,
  serverCount: (count: number) => plural(count, "server"),
  columns: {
    server: "Server",
    is: "State",
    manager: "Manager",
    members: "Members",
    features: "Features",
    seats: "Seats in use",
    polled: "Polled",
    took: "Poll took",
    unparsed: "Unparsed lines",
    label: "Label",
  },
  experimental: ", experimental",
  noSuchServer: "There is no such server in the config.",
  allServers: "All servers",
  master: "master",
  masterIs: (host: string) => `, master ${host}`,
  partsUp: (up: number, all: number) => `${up} of ${all} up`,
  partStatus: { up: "up", down: "down", unknown: "not known" } satisfies Record<PartStatus, string>,
  next: "next poll in",
  due: "next poll due",
  memberList: "Members",
  daemons: "Vendor daemons",
  poll: "Polls",
  took: (time: string) => `the last took ${time}`,
  noPoll: "Not polled yet.",
  slowest: (slowest: string, polls: number) =>
    `Slowest of ${plural(polls, "poll")} since this page was opened: ${slowest}.`,
  unparsed: (count: number) =>
    count === 0
      ? "Every line of the last output was understood."
      : `${plural(count, "line")} of the last output ${count === 1 ? "was" : "were"} not understood.`,
  rescan: (id: string) => `Poll ${id} now`,
  rescanned: (id: string, took: string) => `${id} was polled in ${took}.`,
  allOutages: "All",
  days30: "30 days",
  availability: (percent: string, covered: number) =>
    `30 days, ${percent} % available, ${covered < 1 ? "less than 1" : covered} % of the time known`,
  noOutage: "None in the time that is known.",

  firing: "Firing",
  over: "Over",
  severities: { critical: "Critical", warning: "Warning", info: "Info" } satisfies Record<Severity, string>,
  anySeverity: "Severity: any",
  severity: (severity: string) => `Severity: ${severity}`,
  anyRule: "Rule: any",
  rule: (rule: string) => `Rule: ${rule.replaceAll("_", " ")}`,
  alertCount: (count: number) => plural(count, "alert"),
  noneFiring: "No alert fires.",
  noneOver: "No alert was over in the time that is kept.",
  older: "Older ones",
  began: "began",
  acknowledgedBy: (who: string | null) => (who === null ? "acknowledged" : `acknowledged by ${who}`),
  silencedUntil: (time: string) => `silenced until ${time}`,
  acknowledge: "Acknowledge",
  ack: "Ack",
  silence: "Silence",
  needsOperator: "To acknowledge or silence an alert needs the role operator.",
  acknowledgeThis: (what: string) => `Acknowledge ${what}`,
  silenceThis: (what: string, until: string) => `Silence ${what} until ${until}`,
  acknowledgeMeans: "Reminders end. That it is over is still notified, and so is a rise of its severity.",
  silenceMeans:
    "Nothing is notified of this trouble until then, also when it ends and comes again meanwhile.",
  comment: "Comment for the others (not needed)",
  until: "Until",
  spans: { 1: "1 hour", 4: "4 hours", 24: "1 day", 72: "3 days", 168: "1 week", 720: "30 days" },
  another: "another time",
  untilWhen: "Until when",
  cancel: "Cancel",
  acknowledged: (what: string) => `Acknowledged: ${what}.`,
  silenced: (what: string, until: string) => `Silenced until ${until}: ${what}.`,
} as const;
