import type { Severity } from "../../domain/alerts.ts";
import type { PartStatus } from "../../domain/words.ts";
import { number } from "../format.ts";
import { daily as first, KIND_WORDS, plural } from "./words.ts";

/** The words of the overview, and those of the servers, the alerts and the wall. */
export const daily = {
  ...first,
  allWell: "all is well",
  screen: (at: number, all: number, isHeld: boolean) => `${at} of ${all}${isHeld ? ", held" : ""}`,
  noSuchServers: (ids: readonly string[]) => `Not in the config: ${ids.join(", ")}`,
  notFine: (count: number, all: number) => `${number(count)} of ${plural(all, "server")} not fine.`,
  sums: (used: string, total: string, waiting: number | null) =>
    `${used} of ${total} seats in use${waiting ? `, ${number(waiting)} waiting` : ""}.`,
  nextExpiry: (on: string, what: string) => `Next expiry ${on}: ${what}`,

  troubled: "Not fine",
  noLabel: "without label",

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
  partOf: (from: number, to: number, all: number) => `${number(from)}–${number(to)} of ${number(all)}`,
  since: (time: string) => `since ${time}`,
  acknowledgedBy: (who: string | null) => (who === null ? "acknowledged" : `acknowledged by ${who}`),
  silencedUntil: (time: string) => `silenced until ${time}`,
  acknowledge: "Acknowledge",
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
  acknowledged: (what: string) => `Acknowledged: ${what}.`,
  silenced: (what: string, until: string) => `Silenced until ${until}: ${what}.`,
} as const;
