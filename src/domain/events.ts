import { type Static, Type } from "@sinclair/typebox";
import { ALERT_CHANGES, AlertFields } from "./alerts.ts";
import { DenialFields } from "./denials.ts";
import { nullable, Timestamp, words } from "./records.ts";
import { END_REASONS } from "./session.ts";
import { LOG_LEVELS, LOG_SOURCES, PART_STATUSES, SERVER_STATUSES } from "./words.ts";

/**
 * Every event of licmond, declared once: the bus, the streams, the OpenAPI document and the static types come
 * from these schemas. `id` is `<type>-<n>` with the id `n` of the frame.
 */

const eventId = (type: string) =>
  Type.String({ pattern: `^${type}-\\d+$`, examples: [`${type}-1769847330123`] });

export const LogEvent = Type.Object(
  {
    type: Type.Literal("log"),
    id: eventId("log"),
    timestamp: Timestamp,
    level: words(LOG_LEVELS),
    message: Type.String(),
    source: words(LOG_SOURCES),
    metadata: Type.Record(Type.String(), Type.Unknown()),
  },
  { title: "LogEvent", description: "A line of the service's own log" },
);
export type LogEvent = Static<typeof LogEvent>;

const Percentage = nullable(Type.Number({ minimum: 0, maximum: 100 }));

export const MetricsEvent = Type.Object(
  {
    type: Type.Literal("metrics"),
    id: eventId("metrics"),
    timestamp: Timestamp,
    cpu: Type.Optional(Percentage),
    memory: Type.Optional(Percentage),
    system: Type.Optional(Type.Object({ cpu: Percentage, memory: Percentage, disk: Percentage })),
    licenses: Type.Optional(
      Type.Object({
        total: nullable(Type.Integer({ minimum: 0 })),
        used: nullable(Type.Integer({ minimum: 0 })),
        utilization: nullable(Type.Number({ minimum: 0 })),
      }),
    ),
  },
  { title: "MetricsEvent", description: "Load of the host in percent, and seats of all servers" },
);
export type MetricsEvent = Static<typeof MetricsEvent>;

/** A checkout over its life. */
export const SessionFields = {
  server: Type.String(),
  daemon: Type.String(),
  feature: Type.String(),
  user: nullable(Type.String()),
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
  durationSeconds: Type.Integer({ minimum: 0 }),
};

export const CheckoutEvent = Type.Object(
  {
    type: Type.Literal("checkout"),
    id: eventId("checkout"),
    timestamp: Timestamp,
    session: Type.Integer({ description: "Id of the session" }),
    ...SessionFields,
  },
  { title: "CheckoutEvent", description: "Seats were taken" },
);
export type CheckoutEvent = Static<typeof CheckoutEvent>;

export const CheckinEvent = Type.Object(
  {
    type: Type.Literal("checkin"),
    id: eventId("checkin"),
    timestamp: Timestamp,
    session: Type.Integer({ description: "Id of the session" }),
    ...SessionFields,
  },
  { title: "CheckinEvent", description: "Seats were given back, or were last seen before `endedAt`" },
);
export type CheckinEvent = Static<typeof CheckinEvent>;

export const ServerStatusEvent = Type.Object(
  {
    type: Type.Literal("server_status"),
    id: eventId("server_status"),
    timestamp: Timestamp,
    server: Type.String(),
    daemon: nullable(Type.String({ description: "Null when the status is the server's" })),
    from: words([...new Set([...SERVER_STATUSES, ...PART_STATUSES])]),
    to: words([...new Set([...SERVER_STATUSES, ...PART_STATUSES])]),
    reason: nullable(Type.String()),
  },
  { title: "ServerStatusEvent", description: "A server or one of its daemons changed its status" },
);
export type ServerStatusEvent = Static<typeof ServerStatusEvent>;

export const DenialEvent = Type.Object(
  { type: Type.Literal("denial"), id: eventId("denial"), timestamp: Timestamp, ...DenialFields },
  { title: "DenialEvent", description: "A request for seats was denied" },
);
export type DenialEvent = Static<typeof DenialEvent>;

export const AlertEvent = Type.Object(
  {
    type: Type.Literal("alert"),
    id: eventId("alert"),
    timestamp: Timestamp,
    alert: Type.Integer({ description: "Id of the alert" }),
    change: words(ALERT_CHANGES),
    ...AlertFields,
  },
  { title: "AlertEvent", description: "An alert fired, ended, or was changed" },
);
export type AlertEvent = Static<typeof AlertEvent>;

/** A stored event as it travels: everything but metrics. */
export type StoredEvent =
  | LogEvent
  | CheckoutEvent
  | CheckinEvent
  | ServerStatusEvent
  | AlertEvent
  | DenialEvent;
export type AnyEvent = StoredEvent | MetricsEvent;
export type EventType = AnyEvent["type"];

/**
 * Events of what is known of seats: published after their commit or not at all, because what could not be stored is not
 * known. Every other event goes out although the store fails.
 */
export const NEVER_UNSTORED: ReadonlySet<EventType> = new Set(["checkout", "checkin", "denial"]);

/** What the emitter of an event says; id and timestamp come from the bus. */
export type EventInput<E extends StoredEvent = StoredEvent> = E extends StoredEvent
  ? Omit<E, "id" | "timestamp">
  : never;

/** Schema of each event type: the registry from which streams and documents are made. */
export const EVENT_SCHEMAS = {
  log: LogEvent,
  metrics: MetricsEvent,
  checkout: CheckoutEvent,
  checkin: CheckinEvent,
  server_status: ServerStatusEvent,
  alert: AlertEvent,
  denial: DenialEvent,
} as const satisfies Record<EventType, unknown>;

/** Names under which a log event goes out besides `log`, directly behind it: its twins. */
export const LOG_TWINS = { error: "error_log", warn: "warning_log" } as const;

/** Names of frames on `/stream/combined`, as `events=` takes them. */
export const FRAME_NAMES = [
  "log",
  "error_log",
  "warning_log",
  "metrics",
  "checkout",
  "checkin",
  "server_status",
  "alert",
  "denial",
] as const;
export type FrameName = (typeof FRAME_NAMES)[number];
