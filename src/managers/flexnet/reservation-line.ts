import { RESERVATION_TYPES, type ReservationReading, type ReservationType } from "../../domain/reading.ts";
import { isDigit } from "./scan.ts";

const RESERVATION = /^(\d{1,9}) RESERVATIONs? for (.+)$/is;
const OWNER = /^([A-Z_]+) (.+)$/is;

/**
 * `N RESERVATION[s] for (USER|HOST|HOST_GROUP|…) NAME… (srv/port)`; null when the line is none. A word in the type's
 * place that is no known type stays in the name of a reservation of type `other`.
 */
export function parseReservation(trimmed: string, pool: number | null): ReservationReading | null {
  const found = isDigit(trimmed.charCodeAt(0)) ? RESERVATION.exec(trimmed) : null;
  const count = Number(found?.[1] ?? 0);
  if (found === null || count < 1) return null;
  const owner = withoutServer(found[2] ?? "");
  const [, word = "", name = ""] = OWNER.exec(owner) ?? [];
  const type = reservationType(word);
  return type === null ? { type: "other", name: owner, count, pool } : { type, name, count, pool };
}

function reservationType(word: string): ReservationType | null {
  const type = word.toLowerCase();
  return RESERVATION_TYPES.find((known) => known === type) ?? null;
}

/** Names may hold blanks and brackets: only the last bracket with a slash is the server's. */
function withoutServer(text: string): string {
  const open = text.lastIndexOf(" (");
  return open > 0 && text.endsWith(")") && text.indexOf("/", open) !== -1 ? text.slice(0, open) : text;
}
