import { type Static, type TProperties, Type } from "@sinclair/typebox";
import { ALERT_CHANGES, AlertFields } from "./alerts.ts";
import { type Denial, DenialFields, denialRecord } from "./denials.ts";
import { SessionFields } from "./history-records.ts";
import { PATCH_FIELDS } from "./live-picture.ts";
import { Count, nullable, OfSite, record, Timestamp, textOrNull, words } from "./records.ts";
import { LOG_LEVELS, LOG_SOURCES, PART_STATUSES, SERVER_STATUSES } from "./words.ts";

/**
 * Schemas of all events, from which the bus, the streams, the OpenAPI document and the static types derive.
 * `id` is `<type>-<n>` with the id `n` of the frame.
 */

const event = <const Name extends string, Fields extends TProperties>(
  type: Name,
  title: string,
  description: string,
  fields: Fields,
) => {
  const id = Type.String({ pattern: `^${type}-\\d+$`, examples: [`${type}-1769847330123`] });
  return record(
    title,
    { type: Type.Literal(type), id, timestamp: Timestamp, ...OfSite, ...fields },
    description,
  );
};

export const LogEvent = event("log", "LogEvent", "A line of the service's own log", {
  level: words(LOG_LEVELS),
  message: Type.String(),
  source: words(LOG_SOURCES),
  metadata: Type.Record(Type.String(), Type.Unknown()),
});
export type LogEvent = Static<typeof LogEvent>;

const Share = nullable(Type.Number({ minimum: 0, maximum: 100 }));

export const MetricsEvent = event(
  "metrics",
  "MetricsEvent",
  "Load of the host in percent, and seats of all servers",
  {
    cpu: Type.Optional(Share),
    memory: Type.Optional(Share),
    system: Type.Optional(Type.Object({ cpu: Share, memory: Share, disk: Share })),
    licenses: Type.Optional(
      Type.Object({
        total: nullable(Count),
        used: nullable(Count),
        utilization: nullable(Type.Number({ minimum: 0 })),
      }),
    ),
  },
);
export type MetricsEvent = Static<typeof MetricsEvent>;

const OfSession = { session: Type.Integer({ description: "Id of the session" }), ...SessionFields };

export const CheckoutEvent = event("checkout", "CheckoutEvent", "Seats were taken", OfSession);
export type CheckoutEvent = Static<typeof CheckoutEvent>;

export const CheckinEvent = event(
  "checkin",
  "CheckinEvent",
  "Seats were returned, or are no longer seen",
  OfSession,
);

const Status = words([...new Set([...SERVER_STATUSES, ...PART_STATUSES])]);

export const ServerStatusEvent = event(
  "server_status",
  "ServerStatusEvent",
  "A server or one of its daemons changed its status",
  {
    server: Type.String(),
    daemon: textOrNull("Null when the status is the server's"),
    from: Status,
    to: Status,
    reason: nullable(Type.String()),
  },
);
export type ServerStatusEvent = Static<typeof ServerStatusEvent>;

/** `timestamp` is the time of the event, `deniedAt` the time of the denial. */
export const DenialEvent = event("denial", "DenialEvent", "A request for seats was denied", {
  deniedAt: Timestamp,
  ...DenialFields,
});
export type DenialEvent = Static<typeof DenialEvent>;

export function denialEvent(denial: Denial): EventInput<DenialEvent> {
  const { timestamp: deniedAt, ...fields } = denialRecord(denial);
  return { type: "denial", deniedAt, ...fields };
}

export const AlertEvent = event("alert", "AlertEvent", "An alert fired, ended, or was changed", {
  alert: Type.Integer({ description: "Id of the alert" }),
  change: words(ALERT_CHANGES),
  ...AlertFields,
});
export type AlertEvent = Static<typeof AlertEvent>;

export const PictureEvent = event(
  "picture",
  "PictureEvent",
  "Patch that updates a server's picture (`GET /api/picture`). Sent only if `events=` names it, never " +
    "replayed, and filtered only by `server=`. `from` null: the server is new; `to` null: it is no longer configured",
  PATCH_FIELDS,
);
export type PictureEvent = Static<typeof PictureEvent>;
/** A picture event whose patch is not computed yet. */
export type PictureNotice = Pick<
  PictureEvent,
  "type" | "id" | "timestamp" | "server" | "from" | "to" | "status"
>;

export const EVENT_SCHEMAS = {
  log: LogEvent,
  metrics: MetricsEvent,
  checkout: CheckoutEvent,
  checkin: CheckinEvent,
  server_status: ServerStatusEvent,
  alert: AlertEvent,
  denial: DenialEvent,
  picture: PictureEvent,
};

export type EventType = keyof typeof EVENT_SCHEMAS;
export type AnyEvent = { [T in EventType]: Static<(typeof EVENT_SCHEMAS)[T]> }[EventType];
/** Metrics and picture events get an id and a place in the order, but are not stored. */
export type StoredEvent = Exclude<AnyEvent, MetricsEvent | PictureEvent>;

/**
 * Events that are not published if they cannot be stored, because licmond then does not keep their seats
 * either. Other events are published even if the store fails.
 */
export const NEVER_UNSTORED: ReadonlySet<EventType> = new Set(["checkout", "checkin", "denial"]);

/** An event before the bus adds id and timestamp. */
export type EventInput<E extends StoredEvent = StoredEvent> = E extends StoredEvent
  ? Omit<E, "id" | "timestamp">
  : never;

/** Extra names under which a log event is sent directly after `log`. */
export const LOG_TWINS = { error: "error_log", warn: "warning_log" } as const;

/**
 * Frame names on `/stream/combined` that `events=` accepts. `message` is another name for every event: an
 * EventSource delivers it to `onmessage`.
 */
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
  "picture",
  "message",
] as const;
export type FrameName = (typeof FRAME_NAMES)[number];
