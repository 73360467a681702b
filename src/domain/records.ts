import { Kind, type Static, type TProperties, type TSchema, Type, TypeRegistry } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { ERROR_CODES } from "./errors.ts";
import { RESERVATION_TYPES } from "./reading.ts";
import { text, textRule } from "./text-types.ts";
import { beginsWithDate } from "./time/zone.ts";
import { DATA_STATES, PART_STATUSES, POOL_KINDS, SERVER_STATUSES, UNITS, USER_KINDS } from "./words.ts";

/**
 * Records of the API: one schema each, from which the static type, the OpenAPI document and the tests'
 * validation derive. Times are ISO 8601 UTC with milliseconds, percentages 0–100.
 */

/** Makes an object schema that the OpenAPI document lists under its title. */
export const record = <Fields extends TProperties>(title: string, fields: Fields, description?: string) =>
  Type.Object(fields, { title, ...(description !== undefined && { description }) });

TypeRegistry.Set<{ enum: readonly unknown[] }>("Words", (schema, value) => schema.enum.includes(value));

/** Makes a schema for one word of a list. */
export const words = <const T extends readonly string[]>(list: T, description?: string) =>
  Type.Unsafe<T[number]>({
    [Kind]: "Words",
    type: "string",
    enum: [...list],
    ...(description && { description }),
  });

const OF = Symbol("of");
TypeRegistry.Set<{ [OF]: TSchema }>(
  "Nullable",
  (schema, value) => value === null || Value.Check(schema[OF], value),
);

/** Makes a schema nullable. Null means unknown. */
export const nullable = <T extends TSchema>(schema: T) =>
  Type.Unsafe<Static<T> | null>({ ...schema, [Kind]: "Nullable", [OF]: schema, nullable: true });

const TIME = textRule(
  "a time in ISO 8601 with zone on a day that exists, e.g. 2026-12-31T00:00:00Z",
  (value) =>
    /^\d{4}-\d\d-\d\dT([01]\d|2[0-3]):\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/.test(value) &&
    beginsWithDate(value) &&
    !Number.isNaN(Date.parse(value)),
);
export const Timestamp = text(TIME, { format: "date-time", examples: ["2026-01-31T08:15:30.123Z"] });
export const CalendarDay = Type.String({ format: "date", examples: ["2026-12-31"] });
export const Count = Type.Integer({ minimum: 0 });
export const Percent = Type.Number({ minimum: 0, description: "Percent, two decimals" });
export const count = (description: string, minimum = 0) => Type.Integer({ minimum, description });
export const amount = (description: string) => Type.Number({ minimum: 0, description });
export const time = (description: string) => ({ ...Timestamp, description }) as typeof Timestamp;
export const countOrNull = (description: string) => nullable(count(description));
export const amountOrNull = (description: string) => nullable(amount(description));
export const textOrNull = (description: string) => nullable(Type.String({ description }));
export const timeOrNull = (description: string) => nullable(time(description));
/** Absent without a fleet. */
export const OfSite = {
  site: Type.Optional(
    Type.String({ description: "The site of a fleet; absent without a fleet", examples: ["muc"] }),
  ),
};
/** Part of records whose numeric id is assigned by a hub. */
export const OfHub = {
  siteId: Type.Optional(
    nullable(
      Type.Integer({ description: "At a hub: the id at the site; null for records of the hub itself" }),
    ),
  ),
};
export const OfFeature = { ...OfSite, server: Type.String(), daemon: Type.String(), feature: Type.String() };

export const ErrorBody = record("Error", {
  error: Type.String({ description: "HTTP reason phrase" }),
  code: words(ERROR_CODES),
  message: Type.String(),
  details: Type.Optional(Type.String()),
  requestId: Type.String({ pattern: "^[A-Za-z0-9._-]{1,128}$" }),
  timestamp: Timestamp,
});
export type ErrorBody = Static<typeof ErrorBody>;

export const PollErrorRecord = record("PollError", { code: words(ERROR_CODES), message: Type.String() });

export const MemberRecord = record("Member", {
  host: Type.String(),
  port: nullable(Type.Integer()),
  status: words(PART_STATUSES),
  master: Type.Boolean(),
  version: nullable(Type.String()),
  error: textOrNull("As printed by the tool"),
});

export const DaemonRecord = record("Daemon", {
  name: Type.String(),
  status: words(PART_STATUSES),
  version: nullable(Type.String()),
  error: nullable(Type.String()),
});

export const ServerRecord = record("Server", {
  ...OfSite,
  id: Type.String(),
  name: Type.String(),
  manager: Type.String({
    description: "Name of the license manager as in the config, e.g. flexnet or rlm",
  }),
  experimental: Type.Optional(
    Type.Literal(true, { description: "The parser was not tested with real output of all kinds" }),
  ),
  address: Type.String(),
  labels: Type.Record(Type.String(), Type.String()),
  enabled: Type.Boolean(),
  status: words(SERVER_STATUSES),
  members: Type.Array(MemberRecord),
  daemons: Type.Array(DaemonRecord),
  state: words(DATA_STATES, "Outcome of the last poll"),
  collectedAt: nullable(Timestamp),
  lastPollAt: nullable(Timestamp),
  nextPollAt: nullable(Timestamp),
  pollDurationMs: nullable(Count),
  error: nullable(PollErrorRecord),
  counts: Type.Object(
    {
      features: nullable(Count),
      checkouts: nullable(Count),
      total: nullable(Count),
      used: nullable(Count),
    },
    {
      description:
        "Null until the server was read once. `total` and `used` count only seats, each seat group once",
    },
  ),
  unparsedLines: Count,
});
export type ServerRecord = Static<typeof ServerRecord>;

export const OfCounts = {
  unit: words(UNITS, "Unit of the counts. Different units are never added up; every sum is of seats"),
  seatGroup: textOrNull(
    "Name of the seat group: the features of a server that share seats; null if the feature shares no seats. A sum counts a group " +
      "once, with the largest `total` and the sum of `used`. The group `package NAME` contains the package NAME and its " +
      "components; a sum counts only NAME",
  ),
};

const OfExpiry = {
  expiresOn: nullable(CalendarDay),
  expiresAt: nullable(Timestamp),
  permanent: Type.Boolean(),
};

export const PoolRecord = record("Pool", {
  id: Type.String(),
  version: nullable(Type.String()),
  vendorString: nullable(Type.String()),
  kind: words(POOL_KINDS),
  total: nullable(Count),
  used: nullable(Count),
  unlimited: Type.Boolean(),
  ...OfExpiry,
});
export type PoolRecord = Static<typeof PoolRecord>;

export const FeatureRecord = record("Feature", {
  ...OfSite,
  server: Type.String(),
  daemon: Type.String(),
  name: Type.String(),
  total: nullable(Count),
  used: nullable(Count),
  available: nullable(
    Type.Integer({
      description:
        "Negative if more seats are in use than issued. In a seat group, at most the seats that the group has left, which may " +
        "be less than `total` - `used`",
    }),
  ),
  reserved: nullable(Count),
  queued: nullable(Count),
  unlimited: Type.Boolean(),
  utilization: nullable(Percent),
  shared: Type.Boolean({
    description: "Grouped duplicates: there are more checkouts than seats in use",
  }),
  ...OfExpiry,
  pools: Type.Array(PoolRecord),
  state: words(DATA_STATES),
  error: nullable(Type.String()),
  collectedAt: nullable(Timestamp),
  ...OfCounts,
  assigned: countOrNull(
    "Number of people to whom the feature is assigned by name; null if the manager lists none",
  ),
});
export type FeatureRecord = Static<typeof FeatureRecord>;

export const UserRecord = record("User", {
  kind: words(USER_KINDS),
  session: nullable(
    Type.Integer({ description: "Id of the open session of a checkout; null until the session is stored" }),
  ),
  ...OfFeature,
  user: nullable(Type.String()),
  host: nullable(Type.String()),
  display: nullable(Type.String()),
  qualifier: nullable(Type.String()),
  version: nullable(Type.String()),
  count: Count,
  handle: nullable(Type.String()),
  pid: nullable(Type.Integer()),
  startedAt: nullable(Timestamp),
  firstSeenAt: nullable(Timestamp),
  durationSeconds: nullable(Count),
  lingerSeconds: nullable(Count),
  borrowed: Type.Boolean(),
  reservedFor: nullable(Type.Object({ type: words([...RESERVATION_TYPES, "other"]), name: Type.String() })),
  state: words(DATA_STATES),
  collectedAt: nullable(Timestamp),
});
export type UserRecord = Static<typeof UserRecord>;

export const ExpirationRecord = record("Expiration", {
  ...OfFeature,
  pool: nullable(Type.String()),
  total: nullable(Count),
  expiresOn: nullable(CalendarDay),
  expiresAt: nullable(Timestamp),
  daysLeft: nullable(Type.Integer({ description: "Negative = expired" })),
  permanent: Type.Boolean(),
  ...OfCounts,
});
export type ExpirationRecord = Static<typeof ExpirationRecord>;

export const SummaryRecord = record("Summary", {
  servers: Type.Object({ up: Count, degraded: Count, down: Count, unknown: Count }),
  features: Count,
  staleFeatures: Count,
  seats: Type.Object(
    { total: nullable(Count), used: nullable(Count), available: nullable(Type.Integer()) },
    {
      description:
        "Only features that count seats, each seat group once; the same applies to `queued` and `reserved`",
    },
  ),
  unlimitedFeatures: Count,
  utilization: nullable(Percent),
  users: Count,
  hosts: Count,
  queued: Count,
  reserved: Count,
  alerts: Type.Object({ info: nullable(Count), warning: nullable(Count), critical: nullable(Count) }),
  expiries: Type.Array(ExpirationRecord),
  collectedAt: nullable(Timestamp),
});
export type SummaryRecord = Static<typeof SummaryRecord>;

export const RescanResult = record("RescanResult", {
  ...OfSite,
  server: Type.String(),
  status: words(["ok", "partial", "failed"]),
  durationMs: Count,
  error: nullable(PollErrorRecord),
});
export type RescanResult = Static<typeof RescanResult>;

/** Output of a server's last poll; its fields are null before the first poll since the start. */
export const RawOutput = record("RawOutput", {
  ...OfSite,
  server: Type.String(),
  polledAt: nullable(Timestamp),
  argv: nullable(Type.Array(Type.String())),
  exitCode: nullable(Type.Integer()),
  signal: textOrNull("Signal that ended the tool"),
  stdout: nullable(Type.String()),
  stderr: nullable(Type.String()),
  truncated: nullable(
    Type.Boolean({
      description: "The output was longer than 16 MiB: licmond ended the tool and kept the first 1 MiB",
    }),
  ),
  unparsedLines: Type.Integer({ minimum: 0 }),
  unparsed: Type.Array(Type.Object({ line: Type.Integer({ minimum: 1 }), text: Type.String() })),
});
export type RawOutput = Static<typeof RawOutput>;
