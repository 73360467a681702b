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
 * What a site and its hub say to each other: `POST /api/fleet/push`, a batch of JSON under zstd or gzip. Both sides use
 * these schemas. Times are epoch ms; ids are the site's own numbers; names are texts as they leave the site, so under
 * `people = "pseudonyms"` they are pseudonyms already. Display, free text and raw output never travel.
 *
 * Three kinds of things travel. A hub stores the days of a push first, then its facts, then its states. A push may come
 * again with facts that are stored already and days and states that are not.
 *
 * - Facts, in order, each once: `seq` rises, and may leave numbers out. A fact says how a row stands when it is read,
 *   which may be later than its change: it replaces what the hub has under the same id.
 * - States, the newest only: the next one replaces it, so that an outage makes no backlog. What `known` says holds up to
 *   the fact `to` of its batch: it is sent only when no fact waits behind that, and no day of the past.
 * - Days: all that a site has of one table and UTC day. A day replaces what the hub has of it. They come for the past when a
 *   site joins, for days whose facts were dropped, and, of packed tables, when a day is over.
 */

export const PUSH_PATH = "/api/fleet/push";

/** Limits of one push. A site counts its facts; the characters that it puts into a push hold fewer states and days. */
export const MAX_FACTS = 2_000;
const MAX_STATES = 10_000;
const MAX_DAYS = 2_000;
export const MAX_PACKED_BYTES = 1024 * 1024;
export const MAX_UNPACKED_BYTES = 8 * 1024 * 1024;
/** A push at least this often, even an empty one: the site is silent after three of them. */
export const HEARTBEAT_MS = 10_000;

/** The instance of a hello by which `licmond check` asks whether a hub would take pushes: the hub notes nothing of it. */
export const NO_INSTANCE = "0000000000000000";

export const SiteName = text(siteName);

/** Epoch ms, as far as a Date reaches, and days of that range. */
const MAX_DAY = 100_000_000;
const Time = Type.Integer({ minimum: -MAX_DAY * DAY_MS, maximum: MAX_DAY * DAY_MS });
const DayNumber = Type.Integer({ minimum: -1, maximum: MAX_DAY });
const Name = Type.String();
const Seats = nullable(Count);
const OfFeature = { server: Name, daemon: Name, feature: Name };
/** What a feature's counts count, seats where it is not said; and the set of seats that it shares with others. */
const OfCounts = { unit: Type.Optional(words(UNITS)), seatGroup: Type.Optional(Name) };

// --- Facts ------------------------------------------------------------------------------------------------------------

/** A checkout over its life: a row of `sessions` without `display` and `qualifier`. Imported ones have ids below 0. */
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

/** When a server was read without a break, see `takeLook`. While `running`, `known.coverage` has how far it reaches. */
export const CoverageRow = Type.Object({
  server: Name,
  from: Time,
  readAt: Time,
  until: Time,
  running: Type.Boolean(),
  looks: nullable(Count),
});
export type CoverageRow = Static<typeof CoverageRow>;

/** A stretch of one status, see `outages.ts`. `known.statuses` has how far the newest ones reach. */
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

/** `told`: its outcome is final, and the site has published its event. */
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

/** An alert as the API shows it, by its id at the site. */
export const AlertRow = Type.Object({
  id: Type.Integer({ minimum: 1 }),
  ...Type.Omit(Type.Object(AlertFields), ["durationSeconds"]).properties,
});
export type AlertRow = Static<typeof AlertRow>;

const fact = <const Kind extends string, Fields extends TProperties>(kind: Kind, fields: Fields) =>
  Type.Object({ kind: Type.Literal(kind), seq: Type.Integer({ minimum: 1 }), ...fields });

/**
 * Schema of each kind of fact. The hub sets aside facts of unknown kinds, facts that do not fit, and facts that its database
 * cannot store; the others go on.
 */
export const FACT_SCHEMAS = {
  /**
   * `announced` is false for seats that a server's first reading found taken: the site published no `checkout` of them.
   * `changed`: another count, handle or begin.
   */
  session: fact("session", {
    change: words(["opened", "changed", "ended"]),
    announced: Type.Boolean(),
    ...SessionRow.properties,
  }),
  /** Counts of a feature from `at` on; `used` is null in a gap. Known by feature and `at`. */
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
  /** A coverage began or ended. Known by server and `from`. */
  coverage: fact("coverage", CoverageRow.properties),
  /** A stretch began or ended. Known by server and `from`. */
  status: fact("status", StatusRow.properties),
  denial: fact("denial", DenialRow.properties),
  /** An event as the site published it, by its id there: of alerts, of statuses, and with `[fleet] logs` audit lines and warnings. */
  event: fact("event", { id: Count, event: Type.Union([AlertEvent, ServerStatusEvent, LogEvent]) }),
  /**
   * What became of a command of the hub. `code` is one of the API's errors. `begun`: it is under way, and will not be begun
   * again; its outcome follows.
   */
  outcome: fact("outcome", {
    command: Type.String(),
    outcome: words(["begun", "done", "refused", "failed"]),
    code: nullable(Type.String()),
    message: nullable(Type.String()),
    /** Of a rescan: as its route answers at the site. */
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
    /** Of a command that was run: nothing of what it said. */
    run: nullable(Type.Object({ exitCode: nullable(Type.Integer()), durationMs: Count })),
  }),
  /** A row was taken back, because the clock by which it was written was wrong. */
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

// --- States -----------------------------------------------------------------------------------------------------------

/** A server's picture without its features: nothing of the config but what the API shows, no raw words of tools. */
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
/** Without `collectedAt` where that is the head's. */
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

/** Schema of each kind of state. The hub passes over unknown kinds, and sets aside states that it cannot store. */
export const STATE_SCHEMAS = {
  /** The public part of a site's config. */
  site: state("site", {
    version: Type.String(),
    timezone: Type.String(),
    labels: Type.Record(Type.String(), Type.String()),
    formerly: nullable(SiteName),
    people: words(AUDIENCES),
    allow: Type.Array(Type.String()),
    notify: words(["site", "hub"]),
    logs: Type.Boolean(),
    /** In the order of the config: all that are configured. */
    servers: Type.Array(Name),
  }),
  /**
   * The newest picture of a server. `from`: the number of the picture to which `features` and `gone` are the difference;
   * null = this is the whole. A hub that has another number names the server in the answer's `wanted`.
   */
  picture: state("picture", {
    server: Name,
    from: nullable(Count),
    to: Count,
    head: Head,
    features: Type.Array(Feature),
    gone: Type.Array(Key),
    /** All features in the order of the tool; null = as in `from`. */
    order: nullable(Type.Array(Key)),
    /** More parts of this picture follow, the next one `from` this one's `to`. */
    more: Type.Boolean(),
  }),
  /** The alerts that fire, as they are now; one that is not among them does not fire. */
  alerts: state("alerts", { firing: Type.Array(AlertRow) }),
  /**
   * What holds up to the fact `to` of this batch, at the site's time `at`: nothing happened meanwhile that is not among the
   * facts, and no day is missing. `coverage` and `statuses` are the newest of each server, as far as they reach further than
   * when they were said last.
   */
  known: state("known", {
    at: Time,
    coverage: Type.Array(CoverageRow),
    statuses: Type.Array(StatusRow),
    /**
     * When denials could be seen: all spans, or null = as said last. `to` is null while one goes on. `counted`: by counters,
     * which name no feature unless they are `byFeature`.
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
    /** Sessions that ended before this are no longer kept; 0 = all are. */
    sessionsFrom: Count,
  }),
};
export type StateKind = keyof typeof STATE_SCHEMAS;
export type State = { [Kind in StateKind]: Static<(typeof STATE_SCHEMAS)[Kind]> }[StateKind];

// --- Days -------------------------------------------------------------------------------------------------------------

/** Base64 of the bytes that `history/codec.ts` reads. */
const Packed = Type.String({ contentEncoding: "base64" });

/**
 * Rows of each table of a day. A session belongs to the day on which it ended, to day -1 while it is open; a denial, a
 * coverage, a stretch and an alert to the day on which it began.
 */
export const DAY_ROWS = {
  sessions: SessionRow,
  denials: DenialRow,
  coverage: CoverageRow,
  statuses: StatusRow,
  alerts: AlertRow,
  /** `sample_days`: the steps of the day. */
  samples: Type.Object({ ...OfFeature, ...OfCounts, data: Packed }),
  /** `rollup_hours` and `rollup_days`; their users are the numbers in `users`. Under `people = "counts"` they have none. */
  hours: Type.Object({ ...OfFeature, ...OfCounts, data: Packed }),
  rollups: Type.Object({ ...OfFeature, ...OfCounts, data: Packed }),
  /** `session_days`: the seats that were held on the day, one row; none of a day that is not made, or of counts alone. */
  held: Type.Object({ data: Packed }),
  /** Names of the users in rollups: of the whole site, under day -1. None under `people = "counts"`. */
  users: Type.Object({ id: Count, name: Name }),
};
export type DayTable = keyof typeof DAY_ROWS;
export const DAY_TABLES = Object.keys(DAY_ROWS) as readonly DayTable[];

const dayOf = <Table extends DayTable>(table: Table) =>
  Type.Object({
    table: Type.Literal(table),
    /** Days since 1970-01-01 UTC. */
    day: DayNumber,
    /** Part 0 takes the place of all rows of this table and day, further parts add to them. */
    part: Count,
    rows: Type.Array(DAY_ROWS[table]),
  });
export const DAY_SCHEMAS = {
  sessions: dayOf("sessions"),
  denials: dayOf("denials"),
  coverage: dayOf("coverage"),
  statuses: dayOf("statuses"),
  alerts: dayOf("alerts"),
  samples: dayOf("samples"),
  hours: dayOf("hours"),
  rollups: dayOf("rollups"),
  held: dayOf("held"),
  users: dayOf("users"),
};
export type Day = { [Table in DayTable]: Static<(typeof DAY_SCHEMAS)[Table]> }[DayTable];

// --- Push and answer --------------------------------------------------------------------------------------------------

/** The envelope of a push. Facts, states and days are checked one by one, so that a bad one does not stop the others. */
export const Push = Type.Object({
  site: SiteName,
  /** Random, made with the site's database: its ids mean something else under another one. */
  epoch: Type.String({ pattern: "^[0-9a-f]{16}$" }),
  /** Random, one a process: two daemons with one site's key have two. */
  instance: Type.String({ pattern: "^[0-9a-f]{16}$" }),
  /** The facts are all that the site has in [from, to]; `to` is `from - 1` when there are none. */
  from: Type.Integer({ minimum: 1 }),
  to: Type.Integer({ minimum: 0 }),
  /**
   * What lies before `from` and is not at the hub will never come as facts, because the site has dropped it: days make up
   * for it. Without it `from > cursor + 1` is a CONFLICT.
   */
  gap: Type.Boolean(),
  /** The site's clock when it sent this. */
  sentAt: Time,
  /** The newest fact of the site, and when the oldest one behind `to` was made: how far the hub is behind. */
  head: Count,
  waitingSince: nullable(Time),
  /** Days that are still to come; null = none of the past is missing. */
  daysLeft: nullable(Count),
  /** The first push of a process: it asks for the cursor, brings nothing, and changes nothing. */
  hello: Type.Boolean(),
  /**
   * The hub acknowledged nothing of this epoch yet, but perhaps hellos: one that does not know it begins with the cursor
   * `from - 1`. Without it an epoch that the hub does not know is a CONFLICT: the hub lost what it had.
   */
  begins: Type.Boolean(),
  /** The name that the site had before: in a hello, the hub gives the site what it has of that one in the same epoch. */
  formerly: Type.Optional(SiteName),
  /** The last push of a process that ends: the next one need not wait until this one is silent. */
  stops: Type.Optional(Type.Boolean()),
  /** Where there are no commands, the hub may wait so long for one before it answers: nothing else waits for the answer. */
  holdMs: Type.Optional(Count),
  /** With `notify = "hub"`: alerts that fired up to then the site has told people of itself, because it was alone. */
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
    /** Opaque, of the hub. The same one may come again until its outcome is there: it is carried out once. */
    id: Type.String({ minLength: 1, maxLength: 64 }),
    /** Who asked at the hub. */
    by: Type.Object({ key: Type.String(), name: Type.String(), role: words(["operator", "admin"]) }),
    /** After so long it is not begun any more. */
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
 * The answer with 200: what of the push is stored, in one transaction with the cursor. Others: 409 CONFLICT, whose `details`
 * is `cursor=<n>` where facts in between are missing, `epoch` where the hub does not know an epoch that it should know, and
 * begins with `instance` where another process pushes for the site; 429 and 503 with `Retry-After`.
 */
export const Answer = Type.Object({
  /** The newest fact that is stored; `from - 1` for an epoch that begins. */
  cursor: Count,
  commands: Type.Array(Command),
  /** Servers whose pictures do not fit what the hub has: it wants them whole. */
  wanted: Type.Array(Name),
  retryAfterMs: Type.Optional(Count),
});
export type Answer = Static<typeof Answer>;
