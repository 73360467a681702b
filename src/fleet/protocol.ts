import { type Static, type TProperties, Type } from "@sinclair/typebox";
import { siteName } from "../config/forms.ts";
import { AlertFields } from "../domain/alerts.ts";
import { DENIAL_OUTCOMES } from "../domain/denials.ts";
import { AlertEvent, LogEvent, ServerStatusEvent } from "../domain/events.ts";
import type { FeaturePicture, ServerPicture } from "../domain/picture.ts";
import { Count, nullable, words } from "../domain/records.ts";
import { END_REASONS } from "../domain/session.ts";
import { text } from "../domain/text-types.ts";
import { DAY_MS } from "../domain/time/clock.ts";
import { AUDIENCES, SERVER_STATUSES, UNITS } from "../domain/words.ts";

/**
 * The protocol between a site and its hub: `POST /api/fleet/push`, a batch of JSON compressed with zstd or
 * gzip. Both sides use these schemas. Times are epoch ms and ids are the site's own. With
 * `people = "pseudonyms"`, all names of people are pseudonyms. Displays, free text and raw output are never
 * sent.
 *
 * A push has three kinds of content. The hub stores days first, then facts, then states. A repeated push may
 * have the same facts with other days and states.
 *
 * - Facts are sent in order, each once. `seq` increases and may skip numbers. A fact contains the current
 *   state of a row, which may be newer than the recorded change. The fact replaces the hub's row with the
 *   same id.
 * - States have only the newest value. Each state replaces the last one, so an outage causes no backlog. A
 *   `known` state is valid up to the fact `to` of its batch, so it is sent only if no later fact and no past
 *   day is waiting.
 * - Days contain everything a site has of one table and UTC day, and replace the hub's rows of that day. Days
 *   are sent for the past when a site joins, for days whose facts were dropped, and for packed tables when a
 *   day is over.
 */

export const PUSH_PATH = "/api/fleet/push";

/**
 * Limits of one push. The site also limits the number of characters, so a push usually has fewer states and
 * days.
 */
export const MAX_FACTS = 2_000;
const MAX_STATES = 10_000;
const MAX_DAYS = 2_000;
export const MAX_PACKED_BYTES = 1024 * 1024;
export const MAX_UNPACKED_BYTES = 8 * 1024 * 1024;
/** Maximum time between pushes. A site counts as silent after three missed heartbeats. */
export const HEARTBEAT_MS = 10_000;

/** Instance of the hello that `licmond check` sends. The hub stores nothing of such a hello. */
export const NO_INSTANCE = "0000000000000000";

export const SiteName = text(siteName);

const MAX_DAY = 100_000_000;
const Time = Type.Integer({ minimum: -MAX_DAY * DAY_MS, maximum: MAX_DAY * DAY_MS });
const DayNumber = Type.Integer({ minimum: -1, maximum: MAX_DAY });
const Name = Type.String();
const Seats = nullable(Count);
const OfFeature = { server: Name, daemon: Name, feature: Name };
/** Unit of a feature's counts (default: seats), and the group of features that share its seats. */
const OfCounts = { unit: Type.Optional(words(UNITS)), seatGroup: Type.Optional(Name) };

/** A row of `sessions` without `display` and `qualifier`. Imported sessions have negative ids. */
export const SessionRow = Type.Object({
  id: Type.Integer(),
  ...OfFeature,
  user: nullable(Name),
  host: nullable(Name),
  version: nullable(Type.String()),
  count: Type.Integer({ minimum: 1 }),
  handle: nullable(Type.String()),
  startedAt: nullable(Time),
  beganAt: Time,
  firstSeenAt: Time,
  lastSeenAt: Time,
  endedAt: nullable(Time),
  endReason: nullable(words(END_REASONS)),
});
export type SessionRow = Static<typeof SessionRow>;

/**
 * A period during which a server was read without a gap, see `takeLook`. While `running`, its end is in
 * `known.coverage`.
 */
export const CoverageRow = Type.Object({
  server: Name,
  from: Time,
  readAt: Time,
  until: Time,
  running: Type.Boolean(),
  looks: nullable(Count),
});
export type CoverageRow = Static<typeof CoverageRow>;

/** A period of one server status, see `outages.ts`. The newest periods have their end in `known.statuses`. */
export const StatusRow = Type.Object({
  server: Name,
  from: Time,
  status: words(SERVER_STATUSES),
  reason: nullable(Type.String()),
  readAt: Time,
  until: Time,
  nextBy: Time,
});
export type StatusRow = Static<typeof StatusRow>;

/** `told` is true if the outcome is final and the site has published the event. */
export const DenialRow = Type.Object({
  id: Type.Integer(),
  server: Name,
  daemon: Name,
  feature: nullable(Name),
  user: nullable(Name),
  host: nullable(Name),
  at: Time,
  until: Time,
  count: Type.Integer({ minimum: 1 }),
  attempts: Type.Integer({ minimum: 1 }),
  reason: nullable(Type.String()),
  code: nullable(Type.Integer()),
  outcome: words(DENIAL_OUTCOMES),
  told: Type.Boolean(),
});
export type DenialRow = Static<typeof DenialRow>;

export const AlertRow = Type.Object({
  id: Type.Integer({ minimum: 1 }),
  ...Type.Omit(Type.Object(AlertFields), ["durationSeconds"]).properties,
});
export type AlertRow = Static<typeof AlertRow>;

const fact = <const Kind extends string, Fields extends TProperties>(kind: Kind, fields: Fields) =>
  Type.Object({ kind: Type.Literal(kind), seq: Type.Integer({ minimum: 1 }), ...fields });

/**
 * Schema of each kind of fact. The hub sets aside facts that are unknown, invalid or refused by its database,
 * and stores the rest.
 */
export const FACT_SCHEMAS = {
  /**
   * `announced` is false for seats that a server's first reading found in use, because the site published
   * no `checkout` event for them. The change `changed` means that the count, handle or start changed.
   */
  session: fact("session", {
    change: words(["opened", "changed", "ended"]),
    announced: Type.Boolean(),
    ...SessionRow.properties,
  }),
  /** Counts of a feature from `at` on; `used` is null in a gap. Identified by feature and `at`. */
  step: fact("step", {
    ...OfFeature,
    ...OfCounts,
    at: Time,
    total: Seats,
    used: Seats,
    reserved: Seats,
    queued: Seats,
    unlimited: Type.Boolean(),
  }),
  /** A period of coverage. Identified by server and `from`. */
  coverage: fact("coverage", CoverageRow.properties),
  /** A period of one status. Identified by server and `from`. */
  status: fact("status", StatusRow.properties),
  denial: fact("denial", DenialRow.properties),
  /**
   * An event that the site published, with its id at the site: alerts, statuses, and with `[fleet] logs`
   * also audit lines and warnings.
   */
  event: fact("event", { id: Count, event: Type.Union([AlertEvent, ServerStatusEvent, LogEvent]) }),
  /**
   * Outcome of a hub command. `code` is an API error code. The outcome `begun` means that the command is
   * running and will not be started again; another fact with the final outcome follows.
   */
  outcome: fact("outcome", {
    command: Type.String(),
    outcome: words(["begun", "done", "refused", "failed"]),
    code: nullable(Type.String()),
    message: nullable(Type.String()),
    results: nullable(
      Type.Array(
        Type.Object({
          server: Name,
          status: Type.String(),
          durationMs: Count,
          error: nullable(Type.Object({ code: Type.String(), message: Type.String() })),
        }),
      ),
    ),
    run: nullable(Type.Object({ exitCode: nullable(Type.Integer()), durationMs: Count })),
  }),
  /** A row was removed because it was written with a wrong clock. */
  gone: fact("gone", {
    row: Type.Union([
      Type.Object({ of: words(["session", "denial"]), id: Type.Integer() }),
      Type.Object({ of: words(["coverage", "status"]), server: Name, from: Time }),
      Type.Object({ of: Type.Literal("step"), ...OfFeature, at: Time }),
    ]),
  }),
};
export type FactKind = keyof typeof FACT_SCHEMAS;
export type Fact = { [Kind in FactKind]: Static<(typeof FACT_SCHEMAS)[Kind]> }[FactKind];

/** A server's picture without its features, private config and raw output. */
export type PictureHead = Omit<ServerPicture, "features">;
const Head = Type.Unsafe<PictureHead>(
  Type.Object({
    server: Type.Object({ id: Name, name: Name, manager: Name, intervalMs: Count, timeoutMs: Count }),
    status: words(SERVER_STATUSES),
    members: Type.Array(Type.Object({ host: Name })),
    daemons: Type.Array(Type.Object({ name: Name })),
    reachability: Type.Array(Type.Object({ host: Name })),
    collectedAt: nullable(Time),
    lastPollAt: nullable(Time),
  }),
);
const Expiry = Type.Object({
  expiresOn: nullable(Type.String()),
  expiresAt: nullable(Time),
  permanent: Type.Boolean(),
});
const Person = { user: nullable(Name), host: nullable(Name) };
/** `collectedAt` is omitted if it is the same as in the head. */
export type FeatureState = Omit<FeaturePicture, "collectedAt"> & Partial<Pick<FeaturePicture, "collectedAt">>;
const Feature = Type.Unsafe<FeatureState>(
  Type.Object({
    daemon: Name,
    name: Name,
    total: Seats,
    used: Seats,
    expiry: Expiry,
    pools: Type.Array(Type.Object({ id: Name, expiry: Expiry })),
    checkouts: Type.Array(Type.Object({ user: nullable(Name), count: Count })),
    reservations: Type.Array(Type.Object({ type: Name, name: Name, count: Count })),
    queue: Type.Array(Type.Object({ user: nullable(Name), count: Count })),
    alsoHeldBy: Type.Optional(Type.Array(Type.Object(Person))),
    unit: Type.Optional(words(UNITS)),
    seatGroup: Type.Optional(Name),
    assigned: Type.Optional(
      Type.Array(Type.Object({ user: Name, host: nullable(Name), since: nullable(Time) })),
    ),
  }),
);
const Key = Type.Tuple([Name, Name], { description: "Daemon and name of a feature" });

const state = <const Kind extends string, Fields extends TProperties>(kind: Kind, fields: Fields) =>
  Type.Object({ kind: Type.Literal(kind), ...fields });

/**
 * Schema of each kind of state. The hub ignores unknown kinds, and sets aside states that its database
 * refuses.
 */
export const STATE_SCHEMAS = {
  site: state("site", {
    version: Type.String(),
    timezone: Type.String(),
    labels: Type.Record(Type.String(), Type.String()),
    formerly: nullable(SiteName),
    people: words(AUDIENCES),
    allow: Type.Array(Type.String()),
    notify: words(["site", "hub"]),
    logs: Type.Boolean(),
    /** In config order. */
    servers: Type.Array(Name),
  }),
  /**
   * The newest picture of a server. `from` is the number of the picture to which `features` and `gone` are
   * relative; null means that this picture is complete. If the hub has a picture with another number, the
   * hub lists the server in `wanted` of its answer.
   */
  picture: state("picture", {
    server: Name,
    from: nullable(Count),
    to: Count,
    head: Head,
    features: Type.Array(Feature),
    gone: Type.Array(Key),
    /** All features in the order of the tool; null = in the order of the picture `from`. */
    order: nullable(Type.Array(Key)),
    /** Whether more parts of this picture follow. The `from` of the next part is the `to` of this part. */
    more: Type.Boolean(),
  }),
  /** All alerts that are firing; alerts missing here are not firing. */
  alerts: state("alerts", { firing: Type.Array(AlertRow) }),
  /**
   * State as of the fact `to` of this batch and the site's time `at`. All changes up to then are sent, and
   * no day is missing. `coverage` and `statuses` list servers whose newest period grew since the last push.
   */
  known: state("known", {
    at: Time,
    coverage: Type.Array(CoverageRow),
    statuses: Type.Array(StatusRow),
    /**
     * Spans in which denials could be seen; null = unchanged. `to` is null while a span is open. `counted`:
     * denials were seen by counters, which name no feature unless `byFeature`.
     */
    denialSpans: nullable(
      Type.Array(
        Type.Object({
          server: Name,
          from: Time,
          to: nullable(Time),
          counted: Type.Boolean(),
          byFeature: Type.Optional(Type.Boolean()),
        }),
      ),
    ),
    /** Time before which ended sessions are no longer kept; 0 = all are kept. */
    sessionsFrom: Count,
  }),
};
export type StateKind = keyof typeof STATE_SCHEMAS;
export type State = { [Kind in StateKind]: Static<(typeof STATE_SCHEMAS)[Kind]> }[StateKind];

/** Base64 of the bytes that `history/codec.ts` reads. */
const Packed = Type.String({ contentEncoding: "base64" });
const PackedRow = Type.Object({ ...OfFeature, ...OfCounts, data: Packed });

/**
 * Rows of each table of a day. A session belongs to the day on which it ended, or to day -1 while it is
 * open. Denials, coverages, status periods and alerts belong to the day on which they began.
 */
export const DAY_ROWS = {
  sessions: SessionRow,
  denials: DenialRow,
  coverage: CoverageRow,
  statuses: StatusRow,
  alerts: AlertRow,
  /** Packed days of these kinds, one row per feature. */
  samples: PackedRow,
  /** Users of hours and rollups are numbers from `users`; with `people = "counts"` they are omitted. */
  hours: PackedRow,
  rollups: PackedRow,
  /** The packed day of this kind. No row if the day is not packed, or with `people = "counts"`. */
  held: Type.Object({ data: Packed }),
  /**
   * Names of the users in rollups, for the whole site, sent as day -1. With `people = "counts"`, no names
   * are sent.
   */
  users: Type.Object({ id: Count, name: Name }),
};
export type DayTable = keyof typeof DAY_ROWS;
export const DAY_TABLES = Object.keys(DAY_ROWS) as readonly DayTable[];

const dayOf = <Table extends DayTable>(table: Table) =>
  Type.Object({
    table: Type.Literal(table),
    /** Days since 1970-01-01 UTC. */
    day: DayNumber,
    /** Number of the part. Part 0 replaces all rows of this table and day; further parts add to them. */
    part: Count,
    rows: Type.Array(DAY_ROWS[table]),
  });
export const DAY_SCHEMAS = Object.fromEntries(DAY_TABLES.map((table) => [table, dayOf(table)])) as {
  readonly [Table in DayTable]: ReturnType<typeof dayOf<Table>>;
};
export type Day = { [Table in DayTable]: Static<(typeof DAY_SCHEMAS)[Table]> }[DayTable];

/**
 * Envelope of a push. Facts, states and days are validated one by one, so that an invalid one does not block
 * the rest.
 */
export const Push = Type.Object({
  site: SiteName,
  /** Random id, created with the site's database. Ids of rows are only valid within this database. */
  epoch: Type.String({ pattern: "^[0-9a-f]{16}$" }),
  /** Random id, one per process. It reveals if two daemons use the key of one site. */
  instance: Type.String({ pattern: "^[0-9a-f]{16}$" }),
  /** The facts are complete for [from, to]; `to` is `from - 1` if the push has no facts. */
  from: Type.Integer({ minimum: 1 }),
  to: Type.Integer({ minimum: 0 }),
  /**
   * The site has dropped facts before `from` that the hub lacks, and sends days instead. If false, `from >
   * cursor + 1` is a CONFLICT.
   */
  gap: Type.Boolean(),
  sentAt: Time,
  /**
   * `head` is the site's newest fact, `waitingSince` the time of the oldest fact after `to`. Both show how
   * far the hub is behind.
   */
  head: Count,
  waitingSince: nullable(Time),
  /** Number of days still to come; null = no past day is missing. */
  daysLeft: nullable(Count),
  /** First push of a process. Asks for the cursor, has no content and changes nothing. */
  hello: Type.Boolean(),
  /**
   * The hub has acknowledged nothing of this epoch except hellos. A hub that does not know the epoch starts
   * at cursor `from - 1`. If false, an unknown epoch is a CONFLICT, because the hub has lost its data.
   */
  begins: Type.Boolean(),
  /** Former name of the site. On a hello, the hub gives the site the data of that name in the same epoch. */
  formerly: Type.Optional(SiteName),
  /** Set in the last push of a process, so that the next process can push at once. */
  stops: Type.Optional(Type.Boolean()),
  /**
   * How long the hub may hold its answer until it has a command. Absent if the site has more to push or is
   * busy with a command.
   */
  holdMs: Type.Optional(Count),
  /**
   * With `notify = "hub"`: time up to which the site itself sent the notifications of new alerts, because
   * the hub was unreachable.
   */
  toldUntil: Type.Optional(Time),
  facts: Type.Array(Type.Object({ kind: Type.String(), seq: Type.Integer({ minimum: 1 }) }), {
    maxItems: MAX_FACTS,
  }),
  states: Type.Array(Type.Object({ kind: Type.String() }), { maxItems: MAX_STATES }),
  days: Type.Array(Type.Object({ table: Type.String(), day: Type.Integer(), part: Type.Integer() }), {
    maxItems: MAX_DAYS,
  }),
});
export type Push = Omit<Static<typeof Push>, "facts" | "states" | "days"> & {
  readonly facts: readonly Fact[];
  readonly states: readonly State[];
  readonly days: readonly Day[];
};

const command = <const Name extends string, Fields extends TProperties>(name: Name, fields: Fields) =>
  Type.Object({
    command: Type.Literal(name),
    /**
     * Opaque id from the hub. The same command may be sent several times until its outcome arrives, but is
     * run once.
     */
    id: Type.String({ minLength: 1, maxLength: 64 }),
    by: Type.Object({ key: Type.String(), name: Type.String(), role: words(["operator", "admin"]) }),
    expiresInMs: Count,
    ...fields,
  });
const Comment = nullable(Type.String({ maxLength: 1000 }));

export const Command = Type.Union([
  command("acknowledge", { alert: Type.Integer({ minimum: 1 }), comment: Comment }),
  command("silence", { alert: Type.Integer({ minimum: 1 }), until: Time, comment: Comment }),
  command("rescan", { servers: nullable(Type.Array(Name)) }),
  command("execute", {
    name: Type.String(),
    server: nullable(Name),
    args: Type.Record(Type.String(), Type.String()),
    timeoutMs: nullable(Count),
  }),
]);
export type Command = Static<typeof Command>;

/**
 * The 200 answer. Everything of the push was then stored, in one transaction with the cursor. Other
 * answers: 409 CONFLICT with `details` of `cursor=<n>` (facts are missing), `epoch` (the hub does not know
 * an epoch that it should know) or beginning with `instance` (another process pushes for the site); 429 and
 * 503 with `Retry-After`.
 */
export const Answer = Type.Object({
  cursor: Count,
  commands: Type.Array(Command),
  /** Servers whose complete pictures the hub wants, because the sent differences do not match its own. */
  wanted: Type.Array(Name),
  retryAfterMs: Type.Optional(Count),
});
export type Answer = Static<typeof Answer>;
