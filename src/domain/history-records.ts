import { type Static, Type } from "@sinclair/typebox";
import {
  amount,
  amountOrNull,
  CalendarDay,
  Count,
  count,
  countOrNull,
  nullable,
  OfCounts,
  OfFeature,
  OfHub,
  OfSite,
  Percent,
  record,
  Timestamp,
  textOrNull,
  time,
  words,
} from "./records.ts";
import { END_REASONS } from "./session.ts";

/** Records of the history API. */

const Seats = amount("Seats, time-weighted");
export const Coverage = Type.Number({
  minimum: 0,
  maximum: 1,
  description: "Share of the time that was observed",
});

/** Fields next to the rows. */
export const RangeFields = {
  start: Timestamp,
  end: Timestamp,
  resolution: words(
    ["exact", "1h"],
    "`1h`: the range begins before the oldest sample, so it was widened to whole hours",
  ),
};

export const SeriesPoint = record("SeriesPoint", {
  timestamp: Timestamp,
  used: nullable(Seats),
  peakUsed: nullable(Count),
  total: nullable(Count),
});

const UNKNOWN_SESSIONS = "Null if there were no polls, or if the range begins before sessions are kept";

export const StatsRecord = record("StatsRow", {
  ...OfFeature,
  total: countOrNull("Seats issued when last known in the range; null when unlimited"),
  peakUsed: nullable(Count),
  averageUsed: nullable(Seats),
  p95Used: nullable(Count),
  peakUtilization: nullable(Percent),
  averageUtilization: nullable(Percent),
  uniqueUsers: countOrNull(
    "Users with a session in any polled hour of the range. In ranges of more than a day, and where sessions are no " +
      "longer kept, the first and the last hour count in full. Null without coverage",
  ),
  sessions: countOrNull(`Sessions that overlap the range. ${UNKNOWN_SESSIONS}`),
  usedSeatHours: amountOrNull(
    "Seat-hours in use by the manager's count, reservations included, while the server was read (`coverage`)",
  ),
  heldSeatHours: amountOrNull(
    "Seats that people held × hours, reservations excluded, as in /api/licenses/usage. Covers the same time as " +
      `\`usedSeatHours\`; before the first reading, the time covered by an imported log. ${UNKNOWN_SESSIONS}`,
  ),
  saturatedSeconds: countOrNull("Time without a free seat; null while no total is known"),
  denials: countOrNull(
    "Rows of /api/licenses/denials with the outcome `denied`, by their first attempt. Retries count once; requests that " +
      "later got seats or a place in the queue do not count. Null while denials are not monitored, and if the manager " +
      "counts denials but names no feature",
  ),
  queuedRequests: countOrNull(
    "Rows of /api/licenses/denials with the outcome `queued`. Null if `denials` is null, or if the range begins before " +
      "denials are kept",
  ),
  coverage: Coverage,
  ...OfCounts,
  series: Type.Optional(
    Type.Array(SeriesPoint, {
      description: "Buckets; `timestamp` is a bucket's start, which may lie before `start`",
    }),
  ),
});
export type StatsRecord = Static<typeof StatsRecord>;

export const SessionFields = {
  ...OfFeature,
  user: textOrNull("Null if the manager names no holder"),
  host: nullable(Type.String()),
  display: nullable(Type.String()),
  version: nullable(Type.String()),
  count: Type.Integer({ minimum: 1 }),
  handle: nullable(Type.String()),
  startedAt: nullable(Timestamp),
  firstSeenAt: Timestamp,
  lastSeenAt: Timestamp,
  endedAt: nullable(Timestamp),
  endReason: nullable(words(END_REASONS)),
  durationSeconds: Count,
};

export const SessionRecord = record("Session", { id: Type.Integer(), ...OfHub, ...SessionFields });
export type SessionRecord = Static<typeof SessionRecord>;

export const PERSON_KINDS = ["user", "host"] as const;
export type PersonKind = (typeof PERSON_KINDS)[number];

export const PersonRecord = record("Person", {
  kind: words(PERSON_KINDS),
  name: Type.String({ description: "For a host, as the tool last printed it" }),
  lastSeenAt: time(
    "When the person last held seats, waited or was denied. For current holders and waiters, the time of the last reading",
  ),
});
export type PersonRecord = Static<typeof PersonRecord>;

export const HeatCellRecord = record("HeatCell", {
  weekday: Type.Integer({ minimum: 1, maximum: 7, description: "Monday = 1" }),
  hour: Type.Integer({ minimum: 0, maximum: 23 }),
  averageUsed: nullable(Seats),
  peakUsed: nullable(Count),
  averageUtilization: nullable(Percent),
  coverage: Coverage,
});
export type HeatCellRecord = Static<typeof HeatCellRecord>;

/** Sources of demand: the debug log, the queue as seen by polls, or none. */
const DEMAND_SOURCES = ["log", "queue", "none"] as const;

const DemandFields = {
  deniedRequests: countOrNull("Requests that were denied for lack of seats (FlexNet -4, -24, -101)"),
  deniedSeats: nullable(Count),
  queuedRequests: countOrNull(
    "Requests that got a place in the queue, from the log. Without a log, a lower bound: how often the queue grew between " +
      "two polls",
  ),
  queuedSeatHours: amountOrNull("Seats requested in the queue × hours"),
  knownFrom: words(
    DEMAND_SOURCES,
    "`log`: the debug log covers at least 95 % of the covered time, or contains denied or queued requests; `queue`: polls " +
      "saw requests waiting; `none`: neither, so the demand is unknown",
  ),
};

export const EfficiencyRecord = record("EfficiencyRow", {
  ...OfFeature,
  total: nullable(Count),
  seats: Type.Array(
    Type.Object({
      seat: Type.Integer({ minimum: 1 }),
      busyPercent: Type.Number({
        description: "Share of the covered time in which at least this many seats were in use",
      }),
    }),
    {
      description:
        "One entry per seat. Above 1000 seats, seats with the same share as the next one are left out",
    },
  ),
  whatIf: Type.Array(
    Type.Object({
      total: Type.Integer({ minimum: 1 }),
      saturatedSeconds: nullable(Count),
      affectedSessions: countOrNull("Null if the range begins before sessions are kept"),
    }),
    {
      description:
        "The same demand with a different number of seats; empty while the total is unknown or unlimited. With additional " +
        "seats, both values are null if the demand is unknown. Otherwise `saturatedSeconds` is how long the known demand " +
        "would still use every seat, and `affectedSessions` is the number of requests that would still be denied or " +
        "queued",
    },
  ),
  demand: Type.Object(DemandFields, { description: "Known demand beyond the seats" }),
  coverage: Coverage,
  unit: OfCounts.unit,
});
export type EfficiencyRecord = Static<typeof EfficiencyRecord>;

const held = (what: string) => amountOrNull(`${what}; null where sessions or samples are no longer kept`);
const unlessUnknown = countOrNull("Null if the number is unknown for any feature of the product");

/**
 * A product's held seats are computed from sessions, not from the peaks of its features. Features that
 * count tokens or credits are left out.
 */
export const ProductRecord = record("Product", {
  product: Type.String(),
  features: count("Features of the product with counts in the range"),
  total: countOrNull("Seats of all features, each seat group once; null if one is unlimited or unknown"),
  peakHeld: held(
    "Most seats that people held at one moment, summed over the features that were read at that moment",
  ),
  averageHeld: held("Seats that people held, averaged over the time in which counts of a feature were read"),
  p95Held: held(
    "Number of seats that was enough for 95 % of the time in which counts of a feature were read",
  ),
  heldSeatHours: held("Seat-hours that people held while counts of a feature were read"),
  idleSeatHours: held(
    "Seat-hours of issued seats while counts of a feature were read, minus the seat-hours that people held",
  ),
  uniqueUsers: nullable(Count),
  sessions: nullable(Count),
  denials: unlessUnknown,
  queuedRequests: unlessUnknown,
  seats: EfficiencyRecord.properties.seats,
  whatIf: EfficiencyRecord.properties.whatIf,
  costPerSeatYear: amountOrNull("From the config"),
  idleCost: amountOrNull("Cost of `idleSeatHours`"),
  currency: nullable(Type.String({ examples: ["EUR"] })),
  coverage: Type.Number({ minimum: 0, maximum: 1, description: "Mean over the features" }),
});
export type ProductRecord = Static<typeof ProductRecord>;

/** A CSV row: one seat, or one number of seats in `whatIf`. */
export const EfficiencyRow = Type.Object({
  ...OfFeature,
  total: nullable(Count),
  part: words(["seat", "whatIf"]),
  seats: Type.Integer({ minimum: 1 }),
  busyPercent: nullable(Percent),
  saturatedSeconds: nullable(Count),
  affectedSessions: nullable(Count),
  demand: Type.Object(DemandFields),
  coverage: Coverage,
  unit: OfCounts.unit,
});
export type EfficiencyRow = Static<typeof EfficiencyRow>;

const Wait = countOrNull(
  "Wait of requests at random moments of these periods until a reading showed a free seat: the p50, or the p80 plus two " +
    "standard errors. Null below 30 periods",
);

export const WaitsRecord = record("WaitsRow", {
  ...OfFeature,
  count: count("Periods without a free seat; a gap of more than an hour in the readings ends a period"),
  fullSeconds: count("Total length of these periods, including gaps"),
  p50Seconds: Wait,
  p80Seconds: Wait,
  longestSeconds: countOrNull("The longest period; null below 30 periods"),
  p80Confirmed: nullable({
    ...Percent,
    description:
      "Check of the p80: percentage of moments in the last third of the periods whose wait did not exceed the p80 of the " +
      "first two thirds",
  } as typeof Percent),
  coverage: Coverage,
});
export type WaitsRecord = Static<typeof WaitsRecord>;

const UsageFields = {
  ...OfSite,
  user: Type.Optional(textOrNull("Null: seats whose holders the manager did not name")),
  host: Type.Optional(nullable(Type.String())),
  server: Type.Optional(Type.String()),
  daemon: Type.Optional(Type.String()),
  feature: Type.Optional(Type.String()),
  product: Type.Optional(nullable(Type.String())),
  day: Type.Optional(CalendarDay),
  heldSeatHours: amount(
    "Seats that people held × hours, reservations excluded. Covers the time in which the server was read; before the " +
      "first reading, the time covered by an imported log",
  ),
  sessions: Count,
  peakHeld: count("Most seats that people held at one moment"),
  uniqueUsers: Count,
  lastUsedAt: Timestamp,
  unit: {
    ...OfCounts.unit,
    description:
      "Unit of `heldSeatHours` and `peakHeld`. A row of several features counts only seats and leaves out other units",
  } as typeof OfCounts.unit,
};
export const UsageRecord = Type.Object(UsageFields, {
  title: "UsageRow",
  description:
    "Grouping by a label adds a field `label:<name>`: a string, or null if the server has no such label",
  // Not a schema, because oapi-codegen generates Go code that does not compile for nullable additional
  // properties.
  additionalProperties: true,
});
export type UsageRecord = Static<typeof UsageRecord>;
