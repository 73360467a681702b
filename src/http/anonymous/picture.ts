import { anonymousAlert } from "../../domain/alerts.ts";
import type { AnyEvent, EventType, LogEvent, MetricsEvent } from "../../domain/events.ts";
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

function withoutWords<Part extends MemberReading | DaemonReading>(part: Part): Part {
  return part.error === null ? part : { ...part, error: { ...part.error, message: TOOL_REPORTS_ERROR } };
}

function anonymousFeature(feature: FeaturePicture, pseudonyms: Pseudonyms): FeaturePicture {
  const { error, checkouts, reservations, queue, alsoHeldBy = [] } = feature;
  const people = checkouts.length + reservations.length + queue.length + alsoHeldBy.length;
  if (error === null && people === 0) return feature;
  const rows = <Row extends CheckoutPicture | QueueReading>(real: readonly Row[]): Row[] =>
    real
      .map((row) => ({ ...row, ...holder(row, pseudonyms), display: null, qualifier: null }))
      // The tool's own order may be that of the real names.
      .sort(
        by(
          ({ user }) => user,
          ({ host }) => host,
          ({ handle }) => handle,
        ),
      );
  return {
    ...feature,
    error: error === null ? null : TOOL_REPORTS_ERROR,
    checkouts: rows(checkouts),
    ...(alsoHeldBy.length > 0 && { alsoHeldBy: alsoHeldBy.map((one) => holder(one, pseudonyms)) }),
    reservations: reservations
      .map((row) => ({ ...row, name: reservedName(row, pseudonyms) }))
      .sort(
        by(
          ({ type }) => type,
          ({ name }) => name,
        ),
      ),
    queue: rows(queue),
  };
}

function holder({ user, host }: Holder, pseudonyms: Pseudonyms): Holder {
  return { user: pseudonyms.user(user), host: host === null ? null : pseudonyms.host(host) };
}

function reservedName({ type, name }: ReservationReading, pseudonyms: Pseudonyms): string {
  if (type === "user") return pseudonyms.user(name);
  if (type === "host" || type === "internet") return pseudonyms.host(name);
  // Whatever else it is for may be a person.
  return "not shown";
}

/** Compares by these texts, the first one that differs; null comes first. */
function by<Row>(...fields: readonly ((row: Row) => string | null)[]): (a: Row, b: Row) => number {
  return (a, b) => {
    for (const field of fields) {
      const [one, other] = [field(a) ?? "", field(b) ?? ""];
      if (one !== other) return one < other ? -1 : 1;
    }
    return 0;
  };
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
  const told = (typeof event === "string" ? JSON.parse(event) : event) as Exclude<
    AnyEvent,
    LogEvent | MetricsEvent
  >;
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
