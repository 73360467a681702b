import { anonymousAlert } from "../../domain/alerts.ts";
import type {
  AlertEvent,
  AnyEvent,
  CheckinEvent,
  CheckoutEvent,
  DenialEvent,
  EventType,
  ServerStatusEvent,
} from "../../domain/events.ts";
import type { CheckoutPicture, FeaturePicture, Holder, ServerPicture } from "../../domain/picture.ts";
import type { DaemonReading, MemberReading, QueueReading, ReservationReading } from "../../domain/reading.ts";
import type { Pseudonyms } from "./pseudonyms.ts";

/**
 * A picture in which no person can be recognised. It is made before anything is filtered, sorted, searched or counted
 * over it, so that no answer can depend on a real name. Numbers and order of servers and features stay.
 */
export function anonymousPicture(picture: ServerPicture, pseudonyms: Pseudonyms): ServerPicture {
  return {
    ...picture,
    members: picture.members.map(withoutWords),
    daemons: picture.daemons.map(withoutWords),
    error: picture.error && { ...picture.error, details: null },
    // Lines that no rule knew may name anybody.
    unparsed: [],
    features: picture.features.map((feature) => anonymousFeature(feature, pseudonyms)),
  };
}

/** Stands where a tool wrote a free text, which may name anybody. */
const TOOL_REPORTS_ERROR = "The tool reports an error";
const NOT_SHOWN = "not shown";

function withoutWords<Part extends MemberReading | DaemonReading>(part: Part): Part {
  return part.error === null ? part : { ...part, error: { ...part.error, message: TOOL_REPORTS_ERROR } };
}

function anonymousFeature(feature: FeaturePicture, pseudonyms: Pseudonyms): FeaturePicture {
  const { error, checkouts, reservations, queue, alsoHeldBy = [] } = feature;
  const people = checkouts.length + reservations.length + queue.length + alsoHeldBy.length;
  if (error === null && people === 0) return feature;
  // The tool's own order may be that of the real names.
  return {
    ...feature,
    error: error === null ? null : TOOL_REPORTS_ERROR,
    checkouts: checkouts.map((one) => withoutPerson(one, pseudonyms)).sort(byPerson),
    ...(alsoHeldBy.length > 0 && { alsoHeldBy: alsoHeldBy.map((one) => holder(one, pseudonyms)) }),
    reservations: reservations
      .map((one) => anonymousReservation(one, pseudonyms))
      .sort((a, b) => compare(a.type, b.type) || compare(a.name, b.name)),
    queue: queue.map((one) => withoutPerson(one, pseudonyms)).sort(byPerson),
  };
}

function withoutPerson<Row extends CheckoutPicture | QueueReading>(row: Row, pseudonyms: Pseudonyms): Row {
  return {
    ...row,
    ...holder(row, pseudonyms),
    display: null,
    qualifier: null,
  };
}

function holder({ user, host }: Holder, pseudonyms: Pseudonyms): Holder {
  return { user: pseudonyms.user(user), host: host === null ? null : pseudonyms.host(host) };
}

function anonymousReservation(row: ReservationReading, pseudonyms: Pseudonyms): ReservationReading {
  switch (row.type) {
    case "user":
      return { ...row, name: pseudonyms.user(row.name) };
    case "host":
    case "internet":
      return { ...row, name: pseudonyms.host(row.name) };
    // Whatever it is for may be a person.
    case "display":
    case "other":
    case "group":
    case "host_group":
    case "project":
      return { ...row, name: NOT_SHOWN };
  }
}

function byPerson<Row extends CheckoutPicture | QueueReading>(a: Row, b: Row): number {
  return (
    compare(a.user, b.user) || compare(a.host ?? "", b.host ?? "") || compare(a.handle ?? "", b.handle ?? "")
  );
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** How an event goes out to anonymized keys: as it is, under pseudonyms, or not at all. */
export const ANONYMOUS_FORM = {
  log: "never",
  metrics: "same",
  checkout: "pseudonyms",
  checkin: "pseudonyms",
  server_status: "pseudonyms",
  alert: "pseudonyms",
  denial: "pseudonyms",
} as const satisfies Record<EventType, "same" | "pseudonyms" | "never">;

/** The JSON text of a domain event in which no person can be recognised. Takes the event parsed or as text. */
export function anonymousEvent(event: AnyEvent | string, pseudonyms: Pseudonyms): string {
  const told = (typeof event === "string" ? JSON.parse(event) : event) as
    | CheckoutEvent
    | CheckinEvent
    | DenialEvent
    | ServerStatusEvent
    | AlertEvent;
  if (told.type === "alert") return JSON.stringify(anonymousAlert(told));
  if (told.type === "server_status") {
    // Why a daemon is down stands there in the tool's words; of a server it is our own.
    return JSON.stringify({ ...told, reason: told.daemon === null ? told.reason : null });
  }
  return JSON.stringify({
    ...told,
    user: told.user === null ? null : pseudonyms.user(told.user),
    host: told.host === null ? null : pseudonyms.host(told.host),
    ...("display" in told && { display: null }),
    ...("reason" in told && { reason: null }),
  });
}
