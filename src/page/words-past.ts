import { number } from "./format.ts";

const seats = (count: number) => `${number(count)} ${count === 1 ? "seat" : "seats"}`;
const times = (count: number, one: string, many: string) => `${number(count)} ${count === 1 ? one : many}`;

/** The words of what looks back: charts, history, denials, expiry, outages. */
export const past = {
  loading: "Loading …",
  failed: "This cannot be read",
  notForYou: "Your role may not see this",
  none: "None.",
  firstOf: (shown: string, total: string) => `The first ${shown} of ${total}; the CSV and the API have all.`,
  copyCurl: "Copy as curl",
  notKnown: "not known",
  noCoverage: "Nobody looked in this time: nothing is known of it.",

  nobodyLooked: "nobody looked",
  total: (total: number) => `total ${number(total)}`,
  peakAt: (count: number, at: string) => `peak ${number(count)} at ${at}`,
  chartKeys: "Arrow keys step through its points.",
  chartFailed: "The drawing could not be loaded. The table below has its figures.",
  asTable: "As table",
  range: "Range",
  ranges: { "24h": "24 h", "7d": "7 d", "30d": "30 d", "1y": "1 y" },
  last: (range: string) => `Last ${range}`,
  covered: (range: string, percent: number) => `${range}, ${percent} % covered`,
  seatsInUse: "Seats in use",
  unit: "seats",
  waiting: "waiting",
  waitNow: (count: number) => `${number(count)} now`,
  denied: "denied",

  weekdays: ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"],
  week: "Week",
  weekOf: (range: string, percent: number) => `average by hour, ${range}, ${percent} % covered`,
  heatShare: "of the seats:",
  heatBusiest: "of the busiest hour:",
  wasFull: "was full at times",
  more: "more",
  heatCell: (percent: number | null, peak: number | null, wasFull: boolean, covered: number) =>
    percent === null
      ? "nobody looked"
      : `${Math.round(percent)} %, peak ${number(peak ?? 0)}${wasFull ? ", was full" : ""}, ${covered} % covered`,

  moreOf: (name: string) => `More of ${name}`,
  tabs: { seats: "Seats needed", sessions: "Sessions", denials: "Denials", pools: "Pools", expiry: "Expiry" },
  now: "Now",
  histogram: (by: number) =>
    `Percent of the time in which so many seats were in use${by > 1 ? `, ${by} a bar` : ""}`,
  enoughFor95: (count: number) => `${seats(count)} were enough for 95 % of the time.`,
  demand: {
    log: "Requests beyond the seats are known from the debug log.",
    queue: "Requests beyond the seats are known from the queue alone.",
    none: "Whether more seats were asked for is not known.",
  },
  beyond: (denied: number | null, queued: number | null) =>
    `${denied === null ? "Not known how many" : number(denied)} denied, ${queued === null ? "not known how many" : number(queued)} queued.`,
  whatIf: "The same demand on other numbers of seats",
  noWhatIf: "Nothing can be said of other numbers of seats: there is no limit, or it is not known.",
  with: "With",
  seatsOf: seats,
  difference: (count: number) => (count > 0 ? `${count} more` : `${-count} fewer`),
  affected: "Requests affected",

  peak: "Peak",
  p95: "p95",
  onAverage: "On average",
  fullFor: "Full for",
  sessions: "Sessions",
  people: "People",
  from: "From",
  until: "Until",
  goesOn: "goes on",
  held: "Held",
  person: "Person",
  host: "Host",
  seats: "Seats",
  inUse: "In use",
  pool: "Pool",
  version: "Version",
  kind: "Kind",
  vendorString: "Vendor string",
  expires: "Expires",
  daysLeft: "Days left",
  noLimit: "no limit",
  permanent: "permanent",

  requests: "Requests",
  noDenials: "No request was denied.",
  at: "At",
  tries: "Tries",
  triesIn: (count: number, time: string) => `${times(count, "try", "tries")} in ${time}`,
  counted: "counted, without names",
  outcome: "Outcome",
  outcomes: { denied: "denied", queued: "waited", granted_later: "granted later" },
  reason: "Reason",
  notKnownOf: (server: string) => `${server}: denials are not known.`,
  logging: { on: "", off: "log_file is not set.", unreadable: "The debug log cannot be read." },
} as const;
