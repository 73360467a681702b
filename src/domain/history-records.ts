import { type Static, Type } from "@sinclair/typebox";
import {
  amount,
  CalendarDay,
  Count,
  count,
  nullable,
  OfCounts,
  OfFeature,
  OfHub,
  OfSite,
  Percent,
  record,
  Timestamp,
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
    "`1h`: the range reaches past the samples and was widened to the whole hours that are kept",
  ),
};

export const SeriesPoint = record("SeriesPoint", {
  timestamp: Timestamp,
  used: nullable(Seats),
  peakUsed: nullable(Count),
  total: nullable(Count),
});

export const StatsRecord = record("StatsRow", {
  ...OfFeature,
  total: nullable(count("Seats issued when last known in the range; null when unlimited")),
  peakUsed: nullable(Count),
  averageUsed: nullable(Seats),
  p95Used: nullable(Count),
  peakUtilization: nullable(Percent),
  averageUtilization: nullable(Percent),
  uniqueUsers: nullable(
    count(
      "Users with a session in an hour of the range that has polls; of more than a day, and where sessions " +
        "are no longer kept, the hours at both ends count in full. Null without coverage",
    ),
  ),
  sessions: nullable(
    count(
      "Sessions that overlap the range. Null where the range begins before sessions are kept, and without polls",
    ),
  ),
  usedSeatHours: nullable(
    amount(
      "Seats in use as the manager counts them × hours, reservations included. Covers the time in which the server was " +
        "read (`coverage`)",
    ),
  ),
  heldSeatHours: nullable(
    amount(
      "Seats that people held × hours, reservations excluded, as in /api/licenses/usage. Covers the same time as " +
        "`usedSeatHours`, and before the first reading the time that an imported log records. Null where " +
        "the range begins before sessions are kept, and without polls",
    ),
  ),
  saturatedSeconds: nullable(count("Time without a free seat; null while no total is known")),
  denials: nullable(
    count(
      "Rows of /api/licenses/denials whose outcome is `denied`, by their first attempt: retries count once, " +
        "requests that finally got seats or a place in the queue do not count. Null while denial logging is off, and where " +
        "the manager counts denials and names no feature",
    ),
  ),
  queuedRequests: nullable(
    count(
      "Rows of /api/licenses/denials whose outcome is `queued`. Null where `denials` is, and where the range begins " +
        "before they are kept",
    ),
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
  user: nullable(Type.String({ description: "Null where the manager names no holder" })),
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
  lastSeenAt: {
    ...Timestamp,
    description:
      "When seats were last held or a request waited (the last reading, while they are) or was denied",
  } as typeof Timestamp,
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

/** Debug log, queue seen by polls only, or no source. */
const DEMAND_SOURCES = ["log", "queue", "none"] as const;

const DemandFields = {
  deniedRequests: nullable(
    count("Requests that were denied because no seat was left (FlexNet -4, -24, -101)"),
  ),
  deniedSeats: nullable(Count),
  queuedRequests: nullable(
    count(
      "Requests that got a place in the queue by the log; where it names none, how often the queue had grown from one " +
        "poll to the next: at least so many",
    ),
  ),
  queuedSeatHours: nullable(amount("Seats asked for in the queue, over time")),
  knownFrom: words(
    DEMAND_SOURCES,
    "`log`: the debug log covers 95 % of the covered time, or contains such requests; `queue`: polls saw people " +
      "wait; `none`: neither, which does not prove that there was no demand",
  ),
};

export const EfficiencyRecord = record("EfficiencyRow", {
  ...OfFeature,
  total: nullable(Count),
  seats: Type.Array(
    Type.Object({
      seat: Type.Integer({ minimum: 1 }),
      busyPercent: Type.Number({
        description: "Share of the covered time in which at least so many were in use",
      }),
    }),
    { description: "One by one up to 1000, of more those after which the share changes" },
  ),
  whatIf: Type.Array(
    Type.Object({
      total: Type.Integer({ minimum: 1 }),
      saturatedSeconds: nullable(Count),
      affectedSessions: nullable(count("Null where the range begins before sessions are kept")),
    }),
    {
      description:
        "The same demand on other numbers of seats; none while the total is unknown or unlimited. Of more seats than " +
        "there are, null where demand is not known. Else `saturatedSeconds` is the time in which the known demand would " +
        "still have taken every seat, and `affectedSessions` the number of requests that would still have been denied or " +
        "queued",
    },
  ),
  demand: Type.Object(DemandFields, {
    description: "Known demand beyond the seats",
  }),
  coverage: Coverage,
  unit: OfCounts.unit,
});
export type EfficiencyRecord = Static<typeof EfficiencyRecord>;

const Held = (what: string) => nullable(amount(`${what}; null where sessions or samples are no longer kept`));

/**
 * Seats held across its features come from sessions, not from the features' peaks. Features that count tokens
 * or credits are left out.
 */
export const ProductRecord = record("Product", {
  product: Type.String(),
  features: count("Features of the product with counts in the range"),
  total: nullable(
    count("Seats of all its features, each seat group once; null where one is unlimited or unknown"),
  ),
  peakHeld: Held("Most seats that people held at one moment, of all its features that were read then"),
  averageHeld: Held("Seats that people held, over the time in which counts of a feature were read"),
  p95Held: Held("Number of seats that was enough for 95 % of that time"),
  heldSeatHours: Held("Seats that people held × hours of that time"),
  idleSeatHours: Held("Seats issued × hours of that time, less those that people held"),
  uniqueUsers: nullable(Count),
  sessions: nullable(Count),
  denials: nullable(count("Null if it is null for one of its features")),
  queuedRequests: nullable(count("Null if it is null for one of its features")),
  seats: EfficiencyRecord.properties.seats,
  whatIf: EfficiencyRecord.properties.whatIf,
  costPerSeatYear: nullable(amount("From the config")),
  idleCost: nullable(amount("`idleSeatHours` at that cost")),
  currency: nullable(Type.String({ examples: ["EUR"] })),
  coverage: Type.Number({ minimum: 0, maximum: 1, description: "Mean of its features'" }),
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

const Wait = nullable(
  count(
    "Of requests at random moments in which it was full, until a reading showed a free seat: p50 and, two standard errors " +
      "above it, p80; null below 30 stretches",
  ),
);

export const WaitsRecord = record("WaitsRow", {
  ...OfFeature,
  count: count("Stretches in which no seat was free; a gap of more than an hour in the readings ends one"),
  fullSeconds: count("Their total length, including gaps"),
  p50Seconds: Wait,
  p80Seconds: Wait,
  longestSeconds: nullable(count("The longest stretch; null below 30")),
  p80Confirmed: nullable({
    ...Percent,
    description:
      "Percent of the full moments of the last third of the stretches whose wait was within the p80 of the first two thirds",
  } as typeof Percent),
  coverage: Coverage,
});
export type WaitsRecord = Static<typeof WaitsRecord>;

const UsageFields = {
  ...OfSite,
  user: Type.Optional(
    nullable(Type.String({ description: "Null: seats whose holders the manager did not name" })),
  ),
  host: Type.Optional(nullable(Type.String())),
  server: Type.Optional(Type.String()),
  daemon: Type.Optional(Type.String()),
  feature: Type.Optional(Type.String()),
  product: Type.Optional(nullable(Type.String())),
  day: Type.Optional(CalendarDay),
  heldSeatHours: amount(
    "Seats that people held × hours, reservations excluded. Covers the time in which the server was read, and before the " +
      "first reading the time that an imported log records",
  ),
  sessions: Count,
  peakHeld: count("Most seats that people held at one moment"),
  uniqueUsers: Count,
  lastUsedAt: Timestamp,
  unit: {
    ...OfCounts.unit,
    description:
      "Unit of `heldSeatHours` and `peakHeld`: that of the feature if the row covers one feature, else seats, and other " +
      "units are left out",
  } as typeof OfCounts.unit,
};
export const UsageRecord = Type.Object(UsageFields, {
  title: "UsageRow",
  description:
    "A label of the grouping is a field of its own, `label:<name>`: a string, or null where the server has no such label",
  // A boolean: for nullable additional properties, oapi-codegen generates Go code that does not compile.
  additionalProperties: true,
});
export type UsageRecord = Static<typeof UsageRecord>;
