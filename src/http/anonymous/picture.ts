import type { CheckoutPicture, FeaturePicture, Holder, ServerPicture } from "../../domain/picture.ts";
import type { DaemonReading, MemberReading, QueueReading, ReservationReading } from "../../domain/reading.ts";
import type { Pseudonyms } from "./pseudonyms.ts";

/**
 * A picture in which nobody can be recognised. It is made before anything is filtered, sorted, searched or counted
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
